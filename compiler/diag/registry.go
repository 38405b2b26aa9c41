package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Code is one entry of a registry: everything about a kind of diagnostic that
// does not depend on where it was found.
type Code struct {
	// ID is the stable code, "FL" and four digits.
	ID string
	// Reason is a short kebab-case name.
	Reason   string
	Severity Severity
	// Title says in one line what the code means.
	Title string
	// Cause says how an operator gets there, Fix what to do about it.
	Cause, Fix string
}

// At makes a diagnostic of this code.
func (c Code) At(place Place, format string, args ...any) Diagnostic {
	return Diagnostic{
		Code: c.ID, Reason: c.Reason, Severity: c.Severity,
		Message: fmt.Sprintf(format, args...), Place: place,
	}
}

// Registry holds the codes of one package. It is filled while the package's
// variables are initialised and only read afterwards.
type Registry struct{ codes []Code }

// Error registers a code whose diagnostics stop the compiler.
func (r *Registry) Error(id, reason, title, cause, fix string) Code {
	return r.add(Code{ID: id, Reason: reason, Severity: Error, Title: title, Cause: cause, Fix: fix})
}

// Warning registers a code whose diagnostics stop nothing.
func (r *Registry) Warning(id, reason, title, cause, fix string) Code {
	return r.add(Code{ID: id, Reason: reason, Severity: Warning, Title: title, Cause: cause, Fix: fix})
}

func (r *Registry) add(c Code) Code {
	r.codes = append(r.codes, c)
	return c
}

// Codes returns the entries, ordered by ID.
func (r *Registry) Codes() []Code {
	return slices.SortedFunc(slices.Values(r.codes), func(a, b Code) int {
		return cmp.Compare(a.ID, b.ID)
	})
}

// Titles maps each code to its one line.
func (r *Registry) Titles() map[string]string {
	titles := make(map[string]string, len(r.codes))
	for _, c := range r.codes {
		titles[c.ID] = c.Title
	}
	return titles
}
