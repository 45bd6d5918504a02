"""Translates a CasADi ``SX`` function into LLVM IR text.

An ``SX`` function is a list of scalar instructions, readable through CasADi's public interface.
Each becomes one or a few IR instructions, on plain doubles or on vectors that hold one instance
of the function per lane. Two entry points can be made from it:

``kernel``
    ``void kernel(double *in, double *out)``, for compiled callers. The arguments (results) of
    the function stand one after the other, each entry as ``lanes`` consecutive doubles.
``map``
    ``int64 map(int64 n, double **ports, int64 *strides)``, for n instances in ordinary arrays.
    Port i belongs to argument i, then follow the results; instance j of port i starts at
    ``ports[i] + j * strides[i]``. If the function has a result named ``valid``, that one is not stored:
    the answer is the number of the first instance for which it is zero, or -1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import casadi as ca

from kreisel.symbolic import elementary

#: Name of the result that says whether the arguments of an instance were admissible.
VALID = "valid"


class UnsupportedOperation(ValueError):
    """The function contains an operation for which no machine code can be made."""


class Builder:
    """Writes IR instructions over vectors of ``lanes`` doubles; values are known by their names.

    >>> b = Builder(lanes=1)
    >>> b.add("%x", b.constant(1.0))
    '%v0'
    >>> b.lines
    ['%v0 = fadd contract double %x, 0x3FF0000000000000']
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.real = "double" if lanes == 1 else f"<{lanes} x double>"
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._count = 0
        self._block = "entry"

    def emit(self, instruction: str) -> str:
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {instruction}")
        return name

    def constant(self, c: float) -> str:
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', c))[0]:016X}"
        return bits if self.lanes == 1 else "<" + ", ".join([f"double {bits}"] * self.lanes) + ">"

    # `contract` lets a product and a sum become one fused instruction; nothing else is relaxed.
    def add(self, x: str, y: str) -> str:
        return self.emit(f"fadd contract {self.real} {x}, {y}")

    def sub(self, x: str, y: str) -> str:
        return self.emit(f"fsub contract {self.real} {x}, {y}")

    def mul(self, x: str, y: str) -> str:
        return self.emit(f"fmul contract {self.real} {x}, {y}")

    def div(self, x: str, y: str) -> str:
        return self.emit(f"fdiv {self.real} {x}, {y}")

    def neg(self, x: str) -> str:
        return self.emit(f"fneg {self.real} {x}")

    def compare(self, predicate: str, x: str, y: str) -> str:
        return self.emit(f"fcmp {predicate} {self.real} {x}, {y}")

    def select(self, condition: str, x: str, y: str) -> str:
        return self.emit(f"select {self.truth} {condition}, {self.real} {x}, {self.real} {y}")

    def bits(self, operation: str, x: str, y: str = "") -> str:
        """``and``, ``or``, ``xor`` or ``not`` of truth values."""
        if operation == "not":
            true = "true" if self.lanes == 1 else "<" + ", ".join(["i1 true"] * self.lanes) + ">"
            operation, y = "xor", true
        return self.emit(f"{operation} {self.truth} {x}, {y}")

    def number(self, condition: str) -> str:
        """1 where the condition holds, else 0."""
        return self.select(condition, self.constant(1.0), self.constant(0.0))

    def nonzero(self, x: str) -> str:
        return self.compare("une", x, self.constant(0.0))

    def call(self, intrinsic: str, *args: str) -> str:
        """An operation of LLVM that works on whole vectors."""
        name = f"@{intrinsic}." + ("f64" if self.lanes == 1 else f"v{self.lanes}f64")
        self.declarations.add(f"declare {self.real} {name}({', '.join([self.real] * len(args))})")
        return self.emit(f"call {self.real} {name}({', '.join(f'{self.real} {a}' for a in args)})")

    def library(self, function: str, *args: str) -> str:
        """A function of the C mathematics library, lane by lane."""
        self.declarations.add(f"declare double @{function}({', '.join(['double'] * len(args))}) nounwind willreturn memory(none)")
        if self.lanes == 1:
            return self.emit(f"call double @{function}({', '.join(f'double {a}' for a in args)})")
        y = "poison"
        for lane in range(self.lanes):
            x = [self.emit(f"extractelement {self.real} {a}, i32 {lane}") for a in args]
            r = self.emit(f"call double @{function}({', '.join(f'double {a}' for a in x)})")
            y = self.emit(f"insertelement {self.real} {y}, double {r}, i32 {lane}")
        return y

    def unless(self, rare: str, usual: str, function: str, *args: str) -> str:
        """``usual``, but the library function in the lanes where ``rare`` holds."""
        any_lane = rare
        if self.lanes > 1:
            name = f"@llvm.vector.reduce.or.v{self.lanes}i1"
            self.declarations.add(f"declare i1 {name}({self.truth})")
            any_lane = self.emit(f"call i1 {name}({self.truth} {rare})")
        k = self._count
        self.lines.append(f"br i1 {any_lane}, label %rare{k}, label %join{k}, !prof !0")
        self.lines.append(f"rare{k}:")
        exact = self.select(rare, self.library(function, *args), usual)
        self.lines += [f"br label %join{k}", f"join{k}:"]
        joined = self.emit(f"phi {self.real} [ {usual}, %{self._block} ], [ {exact}, %rare{k} ]")
        self._block = f"join{k}"
        return joined


def _sign(b: Builder, x: str) -> str:
    one, zero = b.constant(1.0), b.constant(0.0)
    y = b.select(b.compare("olt", x, zero), b.constant(-1.0), x)
    return b.select(b.compare("ogt", x, zero), one, y)


_UNARY: dict[int, Callable[[Builder, str], str]] = {
    ca.OP_ASSIGN: lambda b, x: x,
    ca.OP_NEG: Builder.neg,
    ca.OP_SQ: lambda b, x: b.mul(x, x),
    ca.OP_TWICE: lambda b, x: b.add(x, x),
    ca.OP_INV: lambda b, x: b.div(b.constant(1.0), x),
    ca.OP_SQRT: lambda b, x: b.call("llvm.sqrt", x),
    ca.OP_FABS: lambda b, x: b.call("llvm.fabs", x),
    ca.OP_FLOOR: lambda b, x: b.call("llvm.floor", x),
    ca.OP_CEIL: lambda b, x: b.call("llvm.ceil", x),
    ca.OP_SIGN: _sign,
    ca.OP_NOT: lambda b, x: b.number(b.compare("oeq", x, b.constant(0.0))),
    ca.OP_SIN: lambda b, x: elementary.sin_cos(b, x, shift=0),
    ca.OP_COS: lambda b, x: elementary.sin_cos(b, x, shift=1),
    ca.OP_ATAN: lambda b, x: elementary.atan2(b, x, b.constant(1.0)),
    **{
        op: lambda b, x, name=name: b.library(name, x)  # type: ignore[misc]
        for op, name in {
            ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos",
            ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh",
            ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh", ca.OP_ATANH: "atanh",
            ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_EXPM1: "expm1", ca.OP_LOG1P: "log1p", ca.OP_ERF: "erf",
        }.items()
    },
}  # fmt: skip

_BINARY: dict[int, Callable[[Builder, str, str], str]] = {
    ca.OP_ADD: Builder.add,
    ca.OP_SUB: Builder.sub,
    ca.OP_MUL: Builder.mul,
    ca.OP_DIV: Builder.div,
    ca.OP_LT: lambda b, x, y: b.number(b.compare("olt", x, y)),
    ca.OP_LE: lambda b, x, y: b.number(b.compare("ole", x, y)),
    ca.OP_EQ: lambda b, x, y: b.number(b.compare("oeq", x, y)),
    ca.OP_NE: lambda b, x, y: b.number(b.compare("une", x, y)),
    ca.OP_AND: lambda b, x, y: b.number(b.bits("and", b.nonzero(x), b.nonzero(y))),
    ca.OP_OR: lambda b, x, y: b.number(b.bits("or", b.nonzero(x), b.nonzero(y))),
    ca.OP_IF_ELSE_ZERO: lambda b, x, y: b.select(b.nonzero(x), y, b.constant(0.0)),
    ca.OP_FMIN: lambda b, x, y: b.call("llvm.minnum", x, y),
    ca.OP_FMAX: lambda b, x, y: b.call("llvm.maxnum", x, y),
    ca.OP_COPYSIGN: lambda b, x, y: b.call("llvm.copysign", x, y),
    ca.OP_LIFT: lambda b, x, y: x,
    ca.OP_ATAN2: elementary.atan2,
    **{
        op: lambda b, x, y, name=name: b.library(name, x, y)  # type: ignore[misc]
        for op, name in {
            ca.OP_POW: "pow", ca.OP_CONSTPOW: "pow", ca.OP_HYPOT: "hypot",
            ca.OP_FMOD: "fmod", ca.OP_REMAINDER: "remainder",
        }.items()
    },
}  # fmt: skip

_OPERATION_NAMES = {getattr(ca, name): name.removeprefix("OP_").lower() for name in dir(ca) if name.startswith("OP_")}


def kernel(f: ca.Function, lanes: int) -> str:
    """IR module with the entry point ``kernel``."""
    b = Builder(lanes)
    return _module([_define(f, b, "kernel", "")], b.declarations)


def mapped(f: ca.Function, lanes: int) -> str:
    """IR module with the entry point ``map``: blocks of ``lanes`` instances, single ones if there are fewer."""
    one, many = Builder(1), Builder(lanes)
    texts = [_define(f, b, f"kernel{b.lanes}", "alwaysinline") for b in (one, many)]
    loops = [_loop(f, n) for n in (1, lanes)]
    # The last block ends at the last instance, so it may repeat a part of the block before it.
    main = f"""
define i64 @map(i64 %n, ptr noalias %ports, ptr noalias %strides) {{
  %enough = icmp sge i64 %n, {lanes}
  br i1 %enough, label %many, label %few
many:
  %a = call i64 @loop{lanes}(i64 %n, ptr %ports, ptr %strides)
  ret i64 %a
few:
  %b = call i64 @loop1(i64 %n, ptr %ports, ptr %strides)
  ret i64 %b
}}"""
    count_zeros = f"declare i{lanes} @llvm.cttz.i{lanes}(i{lanes}, i1)"
    return _module([*texts, *loops, main], one.declarations | many.declarations | {count_zeros})


def _module(definitions: list[str], declarations: set[str]) -> str:
    return "\n".join([*sorted(declarations), *definitions, '!0 = !{!"branch_weights", i32 1, i32 1000000}', ""])


def _offsets(f: ca.Function) -> tuple[list[int], list[int]]:
    """Where each argument and each result starts in the kernel's input and output, in entries."""
    starts = ([0], [0])
    for i in range(f.n_in()):
        starts[0].append(starts[0][-1] + f.nnz_in(i))
    for i in range(f.n_out()):
        starts[1].append(starts[1][-1] + f.nnz_out(i))
    return starts


def _define(f: ca.Function, b: Builder, name: str, attributes: str) -> str:
    """The instruction list of f as one IR function."""
    into, out_of = _offsets(f)
    work: dict[int, str] = {}
    read: dict[int, str] = {}
    ids = [f.instruction_id(k) for k in range(f.n_instructions())]
    for k, op in enumerate(ids):
        i, o = f.instruction_input(k), f.instruction_output(k)
        if op == ca.OP_INPUT:
            at = into[i[0]] + i[1]
            if at not in read:
                p = b.emit(f"getelementptr {b.real}, ptr %in, i64 {at}")
                read[at] = b.emit(f"load {b.real}, ptr {p}, align 8")
            work[o[0]] = read[at]
        elif op == ca.OP_OUTPUT:
            p = b.emit(f"getelementptr {b.real}, ptr %out, i64 {out_of[o[0]] + o[1]}")
            b.lines.append(f"store {b.real} {work[i[0]]}, ptr {p}, align 8")
        elif op == ca.OP_CONST:
            work[o[0]] = b.constant(f.instruction_constant(k))
        elif op in _UNARY:
            work[o[0]] = _UNARY[op](b, work[i[0]])
        elif op in _BINARY:
            work[o[0]] = _BINARY[op](b, work[i[0]], work[i[1]])
        else:
            what = _OPERATION_NAMES.get(op, f"number {op}")
            raise UnsupportedOperation(
                f"function '{f.name()}' contains the operation '{what}', for which there is no machine code; "
                "rewrite the expression, or set KREISEL_BACKEND=vm to evaluate it with CasADi (slow)"
            )
    head = f"define {'internal ' if attributes else ''}void @{name}(ptr noalias %in, ptr noalias %out) nounwind {attributes} {{"
    return "\n".join([head, "entry:", *b.lines, "ret void", "}"])


def _loop(f: ca.Function, lanes: int) -> str:
    """All instances, ``lanes`` at a time: transpose in, call, transpose out."""
    into, out_of = _offsets(f)
    n_out = f.n_out() - (f.name_out()[-1:] == [VALID])
    lines: list[str] = []
    real = "double" if lanes == 1 else f"<{lanes} x double>"
    ports = f.n_in() + n_out
    for p in range(ports):
        lines += [
            f"%pp{p} = getelementptr ptr, ptr %ports, i64 {p}", f"%port{p} = load ptr, ptr %pp{p}",
            f"%sp{p} = getelementptr i64, ptr %strides, i64 {p}", f"%stride{p} = load i64, ptr %sp{p}",
        ]  # fmt: skip
    lines += [
        f"%in = alloca [{max(into[-1], 1)} x {real}]", f"%out = alloca [{max(out_of[-1], 1)} x {real}]",
        f"%last = sub i64 %n, {lanes}", "%none = icmp eq i64 %n, 0", "br i1 %none, label %done, label %body",
        "body:", "%i = phi i64 [ 0, %entry ], [ %next, %more ]",
        "%over = icmp sgt i64 %i, %last", "%first = select i1 %over, i64 %last, i64 %i",
    ]  # fmt: skip
    for p in range(ports):
        for lane in range(lanes):
            lines += [
                f"%j{p}.{lane} = add i64 %first, {lane}",
                f"%o{p}.{lane} = mul i64 %j{p}.{lane}, %stride{p}",
                f"%b{p}.{lane} = getelementptr double, ptr %port{p}, i64 %o{p}.{lane}",
            ]
    for p in range(f.n_in()):
        for c in range(f.nnz_in(p)):
            value, at = "poison", into[p] + c
            for lane in range(lanes):
                tag = f"{p}.{c}.{lane}"
                lines += [f"%ip{tag} = getelementptr double, ptr %b{p}.{lane}, i64 {c}", f"%ix{tag} = load double, ptr %ip{tag}"]
                if lanes == 1:
                    value = f"%ix{tag}"
                else:
                    lines.append(f"%iv{tag} = insertelement {real} {value}, double %ix{tag}, i32 {lane}")
                    value = f"%iv{tag}"
            lines += [f"%is{p}.{c} = getelementptr {real}, ptr %in, i64 {at}", f"store {real} {value}, ptr %is{p}.{c}"]
    lines.append(f"call void @kernel{lanes}(ptr %in, ptr %out)")
    for r in range(n_out):
        p = f.n_in() + r
        for c in range(f.nnz_out(r)):
            lines += [f"%os{r}.{c} = getelementptr {real}, ptr %out, i64 {out_of[r] + c}", f"%ov{r}.{c} = load {real}, ptr %os{r}.{c}"]
            for lane in range(lanes):
                tag, value = f"{r}.{c}.{lane}", f"%ov{r}.{c}"
                if lanes > 1:
                    lines.append(f"%oe{tag} = extractelement {real} %ov{r}.{c}, i32 {lane}")
                    value = f"%oe{tag}"
                lines += [f"%op{tag} = getelementptr double, ptr %b{p}.{lane}, i64 {c}", f"store double {value}, ptr %op{tag}"]
    if n_out < f.n_out():
        lines += [
            f"%vp = getelementptr {real}, ptr %out, i64 {out_of[n_out]}", f"%vv = load {real}, ptr %vp",
            f"%bad = fcmp oeq {real} %vv, zeroinitializer",
        ]  # fmt: skip
        if lanes > 1:
            lines += [
                f"%badbits = bitcast <{lanes} x i1> %bad to i{lanes}", f"%anybad = icmp ne i{lanes} %badbits, 0",
                "br i1 %anybad, label %stop, label %more",
                "stop:", f"%lane = call i{lanes} @llvm.cttz.i{lanes}(i{lanes} %badbits, i1 true)", f"%lane64 = zext i{lanes} %lane to i64",
                "%where = add i64 %first, %lane64", "ret i64 %where",
            ]  # fmt: skip
        else:
            lines += ["br i1 %bad, label %stop, label %more", "stop:", "ret i64 %first"]
    else:
        lines.append("br label %more")
    lines += [
        "more:", f"%next = add i64 %i, {lanes}", "%again = icmp slt i64 %next, %n",
        "br i1 %again, label %body, label %done", "done:", "ret i64 -1",
    ]  # fmt: skip
    head = f"define internal i64 @loop{lanes}(i64 %n, ptr noalias %ports, ptr noalias %strides) nounwind {{"
    return "\n".join([head, "entry:", *lines, "}"])
