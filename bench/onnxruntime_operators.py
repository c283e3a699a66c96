# SPDX-License-Identifier: Apache-2.0
# usage: tools/setup-peers --run bench/onnxruntime_operators.py schemas|kernels|joint|microsoft
"""Prints the tables of operators and types that octet keeps as data.

schemas: the types and attributes that ONNX's schemas allow; kernels: the types that ONNX Runtime has CPU kernels for.
microsoft: the same of com.microsoft, a line for each kernel, since their types depend on each other; joint: such lines for
the operators of ai.onnx of which that is true. The first comes from onnx.defs, the others from the registry of the
installed ONNX Runtime. Formats: src/ops/schema_types_data.cc, src/targets/onnxruntime/kernels_data.cc,
src/targets/onnxruntime/microsoft_data.cc and src/targets/onnxruntime/joint_types_data.cc, which hold the output.
"""

import sys
from collections import defaultdict
from itertools import product
from math import prod

from onnx import defs

LETTERS = {"float": "f", "float16": "h", "double": "d", "bfloat16": "b", "int8": "c", "uint8": "C",
           "int16": "s", "uint16": "S", "int32": "i", "uint32": "I", "int64": "l", "uint64": "L",
           "bool": "o", "string": "t", "complex64": "z", "complex128": "Z", "float8e4m3fn": "e",
           "float8e4m3fnuz": "E", "float8e5m2": "m", "float8e5m2fnuz": "M", "int4": "n",
           "uint4": "N", "float4e2m1": "q", "int2": "w", "uint2": "W", "float8e8m0": "x"}
OLDEST, NEWEST = 7, 26


def letters(types):
    """The letters of a set of types; ? where it holds more than tensors."""
    if any(not t.startswith("tensor(") for t in types):
        return "?"
    return "".join(sorted(LETTERS[t[7:-1]] for t in types if t[7:-1] in LETTERS))


def joined(sets):
    """Sets of types by position; a number says: that of the position with this number."""
    out = []
    for i, s in enumerate(sets):
        first = sets.index(s)
        out.append(str(first) if first < i and len(s) > 1 else s)
    return ",".join(out)


def positions(schema, of):
    """Inputs > outputs; + behind the last says that it may repeat."""
    variadic = defs.OpSchema.FormalParameterOption.Variadic
    sets = [of(p) for p in list(schema.inputs) + list(schema.outputs)]
    text = joined(sets).split(",") if sets else []
    count = len(schema.inputs)
    sides = []
    for parameters, part in ((schema.inputs, text[:count]), (schema.outputs, text[count:])):
        many = bool(parameters) and parameters[-1].option == variadic
        sides.append(",".join(part) + ("+" if many else ""))
    return ">".join(sides)


def histories():
    out = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= NEWEST:
            out[schema.name].append(schema)
    for name in sorted(out):
        versions = sorted(out[name], key=lambda s: s.since_version)
        while len(versions) > 1 and versions[1].since_version <= OLDEST:
            versions.pop(0)
        yield name, versions


def allowed(schema, parameter):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter.type_str:
            return list(constraint.allowed_type_strs)
    return [parameter.type_str]


def schemas():
    for name, versions in histories():
        parts, before = [], (None, None)
        for schema in versions:
            types = positions(schema, lambda p: letters(allowed(schema, p)))
            attributes = " ".join(sorted(schema.attributes))
            part = f"{schema.since_version}:{'=' if types == before[0] else types}"
            part += "" if attributes == before[1] else f":{attributes}"
            parts.append(f"{schema.since_version}:-" if schema.deprecated else part)
            before = (types, attributes)
        print(f"{name} " + ";".join(parts))


def runs(kernel, since):
    first, last = kernel.version_range
    return first == since or (last < 2**31 - 1 and first <= since <= last)


def has_body(schema):
    """Without a kernel it is inlined."""
    return schema.has_function or schema.has_context_dependent_function


def kernels():
    from onnxruntime.capi import _pybind_state

    found, cast = defaultdict(list), {}
    for kernel in _pybind_state.get_all_opkernel_def():
        if kernel.domain == "":
            found[kernel.op_name].append(kernel)
    for name, versions in histories():
        parts, before = [], None
        for schema in versions:
            since = schema.since_version
            fitting = [k for k in found[name] if runs(k, since)]

            def types(parameter):
                out = set()
                for kernel in fitting:
                    constraints = kernel.type_constraints
                    named = constraints.get(parameter.type_str, constraints.get(parameter.name))
                    out.update(allowed(schema, parameter) if named is None else named)
                return letters(out & set(allowed(schema, parameter)))

            # Without a kernel it may still be inlined, where the schema has a body; a Constant
            # becomes an initializer. Bernoulli's body draws with an operator that has none from 22.
            inlined = (has_body(schema) or name == "Constant") and (name, since) != ("Bernoulli", 22)
            now = positions(schema, types) if fitting else "*" if inlined else "-"
            if name == "CastLike":  # its body is a Cast
                now = cast[max(v for v in cast if v <= since)].replace(">", ",0>")
            if name == "Cast":
                cast[since] = now
            if now != before:
                parts.append(f"{since}:{now}")
            before = now
        print(f"{name} " + ";".join(parts))


def joint():
    """A number says: of the same type as the position with this number."""
    from onnxruntime.capi import _pybind_state

    found = defaultdict(list)
    for kernel in _pybind_state.get_all_opkernel_def():
        if kernel.domain == "" and kernel.provider == "CPUExecutionProvider":
            found[kernel.op_name].append(kernel)
    for name, versions in histories():
        for schema in versions:
            fitting = [k.type_constraints for k in found[name] if runs(k, schema.since_version)]
            names = sorted({n for types in fitting for n in types})
            taken = {c for types in fitting for c in product(*[types.get(n, ["any"]) for n in names])}
            if has_body(schema) or len(taken) == prod(len({c[i] for c in taken}) for i in range(len(names))):
                continue
            for types in fitting:
                first, sides, position = {}, [], 0
                for parameters in (schema.inputs, schema.outputs):
                    texts = []
                    for p in parameters:
                        own = types.get(p.type_str, allowed(schema, p))
                        bound = p.type_str in first
                        texts.append(str(first[p.type_str]) if bound else letters(own))
                        first.setdefault(p.type_str, position)
                        position += 1
                    sides.append(",".join(texts))
                print(f"{name} {schema.since_version} " + ">".join(sides))


def microsoft():
    from onnxruntime.capi import _pybind_state

    schemas = {s.name: s for s in _pybind_state.get_all_operator_schema() if s.domain == "com.microsoft"}
    lines = set()
    for kernel in _pybind_state.get_all_opkernel_def():
        if kernel.domain != "com.microsoft" or kernel.provider != "CPUExecutionProvider":
            continue
        schema = schemas[kernel.op_name]
        allowed_types = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
        first, sides, position = {}, [], 0
        for parameters in (schema.inputs, schema.outputs):
            texts = []
            for parameter in parameters:
                name = parameter.typeStr
                types = kernel.type_constraints.get(name, kernel.type_constraints.get(parameter.name))
                types = types or allowed_types.get(name, [name])
                types = [t for t in types if t in allowed_types.get(name, types)]
                bound = parameter.isHomogeneous and name in allowed_types
                texts.append(str(first[name]) if bound and name in first else letters(types))
                if bound:
                    first.setdefault(name, position)
                position += 1
            many = bool(parameters) and "Variadic" in str(parameters[-1].option)
            sides.append(",".join(texts) + ("+" if many else ""))
        if all(side and "" not in side.split(",") for side in sides):
            lines.add(f"{kernel.op_name} " + ">".join(sides))
    print("\n".join(sorted(lines)))


{"schemas": schemas, "kernels": kernels, "joint": joint, "microsoft": microsoft}[sys.argv[1]]()
