// Package diag holds what the compiler has to say about an operator's source:
// diagnostics with a stable code, a place, a related place and a way out.
//
// compiler/facade and compiler produce diagnostics through the codes of a
// [Registry]; retectl writes them with [Render] for people, [WriteJSON] for
// programs and [WriteSARIF] for code scanners. A [Page] tells everything about a
// code, with an example.
//
// Promises: a sorted list depends on nothing but the findings, never on the
// order in which files were read; no finding appears twice; [Render] shows at
// most [MaxShown] and counts the rest. The package does no I/O but writing to
// the writer that it is given, and holds no state.
//
// The packages of the compiler report refusals of a source with it; what broke
// while the compiler did its work is an ordinary error instead.
package diag
