# SPDX-License-Identifier: Apache-2.0
"""Pages that octet wrote, opened in headless Chromium."""
import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def run_page(path, script, width=1400, height=900, dark=False, fragment=""):
    """What a script returns, called when the page is ready, as JSON; and all that was logged as an error, or a sentence why there is nothing."""
    if not CHROMIUM:
        return None, ["there is no Chromium; tools/setup --test installs it"]
    text = path.read_text(encoding="utf-8")
    nonce = re.search(r"'nonce-([0-9a-f]+)'", text)
    tag = f'<script nonce="{nonce[1]}">' if nonce else "<script>"
    before = (tag + 'window.bad=[];addEventListener("error",e=>bad.push(String(e.message)));'
              'addEventListener("securitypolicyviolation",e=>bad.push("policy: "+e.violatedDirective+" "+e.blockedURI));'
              'console.error=(...a)=>bad.push(a.join(" "));</script>')
    after = (tag + '(()=>{const key=(k,t)=>(t||document.activeElement||document.body).dispatchEvent('
             'new KeyboardEvent("keydown",{key:k,bubbles:true,cancelable:true}));'
             f"let out;try{{out=(()=>{{{script}}})();}}catch(e){{bad.push('test: '+e);}}"
             'const p=document.createElement("pre");p.id="result";p.textContent=JSON.stringify({out,bad});'
             "document.body.append(p);})();</script>")
    probed = path.with_suffix(".probe.html")
    # Before the page's own body ends, and where its own scripts have run.
    probed.write_text(text.replace("<title>", before + "<title>", 1).replace("</body></html>", after + "</body></html>"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--virtual-time-budget=20000",
                   f"--window-size={width},{height}", "--dump-dom", f"file://{probed}{fragment}"]
        if dark:
            command.insert(1, "--blink-settings=preferredColorScheme=0")
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    if not found:
        return None, [f"the page did not get ready: {done.stderr[-2000:]}"]
    result = json.loads(html.unescape(found[1]))
    return result.get("out"), result["bad"]


def print_page(path):
    """The page on paper: the bytes of a PDF, none where it was not printed."""
    with tempfile.TemporaryDirectory() as profile:
        to = pathlib.Path(profile) / "page.pdf"
        subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--virtual-time-budget=5000",
                        f"--print-to-pdf={to}", f"file://{path}"], capture_output=True, timeout=120, check=False)
        return to.read_bytes() if to.exists() else b""
