package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/agent"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
	"github.com/florete/flor/vertex"
)

func explainCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:        "explain",
		Usage:       "say what a code means: cause, example, fix; without a code, list all",
		ArgsUsage:   "[FLnnnn]",
		Description: "Knows the codes of all packages and programs: what is met in a log or on another machine can be looked up here.",
		Flags:       []cli.Flag{jsonFlag()},
		Action:      c.explain,
	}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "write JSON"}
}

// explanation is what is known of a code, and its JSON form.
type explanation struct {
	Code     string        `json:"code"`
	Severity diag.Severity `json:"severity,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Meaning  string        `json:"meaning"`
	Cause    string        `json:"cause,omitempty"`
	Note     string        `json:"note,omitempty"`
	Example  string        `json:"example,omitempty"`
	Fix      string        `json:"fix,omitempty"`
}

func (c *console) explain(_ context.Context, cmd *cli.Command) error {
	if !cmd.Args().Present() {
		return c.listCodes(cmd.Bool("json"))
	}
	given, err := misused.OneArgument(cmd, "a code such as FL0203")
	if err != nil {
		return err
	}
	id := strings.ToUpper(given)
	for _, explain := range []func(string) (diag.Page, bool){compiler.Explain, explainRefusal, explainElsewhere} {
		if page, ok := explain(id); ok {
			return c.showPage(page, cmd.Bool("json"))
		}
	}
	return usage("%q is no code that retectl knows; \"retectl explain\" lists them", given)
}

func (c *console) showPage(page diag.Page, asJSON bool) error {
	if !asJSON {
		return page.Write(c.out)
	}
	return c.writeJSON(explanation{
		Code: page.ID, Severity: page.Severity, Reason: page.Reason, Meaning: page.Title,
		Cause: page.Cause, Note: page.Note, Example: page.Example, Fix: page.Fix,
	})
}

func (c *console) listCodes(asJSON bool) error {
	codes := allCodes()
	list := make([]explanation, 0, len(codes))
	for _, id := range slices.Sorted(maps.Keys(codes)) {
		list = append(list, explanation{Code: id, Meaning: codes[id]})
	}
	if asJSON {
		return c.writeJSON(list)
	}
	for _, e := range list {
		c.tell("%s  %s", e.Code, e.Meaning)
	}
	return nil
}

// writeJSON writes data for programs, indented, with a newline at the end.
func (c *console) writeJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// allCodes has every code of the module with its meaning.
func allCodes() map[string]string {
	all := meanings()
	maps.Copy(all, titlesOfFlor())
	return all
}

// meanings unites what each package says of its codes.
func meanings() map[string]string {
	all := map[string]string{}
	for _, codes := range []func() map[string]string{
		Codes, compiler.Codes, ca.Codes, envelope.Codes, schema.Codes,
		store.Codes, identity.Codes, bundle.Codes,
		supervise.Codes, agent.Codes, control.Codes, program.Codes,
		relay.Codes, client.Codes, config.Codes, vertex.Codes,
	} {
		maps.Copy(all, codes())
	}
	for _, code := range compiler.Registry() {
		all[code.ID] = code.Title
	}
	return all
}
