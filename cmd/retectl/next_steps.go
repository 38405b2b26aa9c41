package main

import (
	"bytes"
	"context"
	"strings"

	"github.com/florete/flor/compiler"
)

// noteRelease says what is left to do until nodes get the compiled tree: to
// commit it, and to publish it.
func (c *console) noteRelease(ctx context.Context, dir string, v *compiler.View) {
	c.noteUncommitted(ctx, dir)
	c.noteUnpublished(dir, v)
}

// noteGone warns of records that git has and that are gone here: whoever goes on
// without them has forgotten which versions were used and which certificates
// must not be believed.
func (c *console) noteGone(ctx context.Context, dir string) {
	listed, err := git(ctx, dir, "ls-files", "--deleted", "--", ":(glob)"+compiler.RecordsPath+"/*.json*")
	if gone := strings.Fields(string(listed)); err == nil && len(gone) > 0 {
		c.say("warning: git has what is gone here: %s; without it, versions and certificates that were revoked are forgotten: \"git checkout -- %s\" brings it back", strings.Join(gone, ", "), compiler.RecordsPath)
	}
}

// noteUncommitted asks git whether everything below .flor is committed. Where
// there is no git, or dir is no repository of it, there is nothing to say.
func (c *console) noteUncommitted(ctx context.Context, dir string) {
	changes, err := git(ctx, dir, "--no-optional-locks", "status", "--porcelain", "--", compiler.RecordsPath)
	if err == nil && len(bytes.TrimSpace(changes)) > 0 {
		c.say("next: commit %s together with the YAML", compiler.RecordsPath)
	}
}

// noteUnpublished says how nodes get the compiled sets that no coordinator was
// given.
func (c *console) noteUnpublished(dir string, v *compiler.View) {
	switch u := c.unpublished(dir); {
	case !u.Any():
	case u.First:
		c.say("next: the first publish: once node %s is enrolled, \"retectl publish --direct http://%s\" there", v.Management.Name, v.PublisherAddress())
	default:
		c.say("next: \"retectl publish\": %s", waiting(u))
	}
}

// noteBehind says that a comparison with the compiled tree is not one with what
// nodes were given.
func (c *console) noteBehind(dir string) {
	switch u := c.unpublished(dir); {
	case !u.Any():
	case u.First:
		c.say("note: nothing of the compiled tree is published yet")
	default:
		c.say("note: not published yet of the compiled tree: %s", waiting(u))
	}
}

// unpublished reads what is not published. The command has done its work by
// then, so that a record which cannot be read is told and no fault of it.
func (c *console) unpublished(dir string) compiler.Unpublished {
	u, err := compiler.ReadUnpublished(dir)
	if err != nil {
		c.say("warning: what is published is not known: %v", err)
		return compiler.Unpublished{}
	}
	return u
}

// waiting names the nodes for which there is news.
func waiting(u compiler.Unpublished) string {
	var news []string
	if len(u.Newer) > 0 {
		news = append(news, "new sets for "+enumerated(u.Newer))
	}
	if len(u.Gone) > 0 {
		news = append(news, enumerated(u.Gone)+" gone")
	}
	return strings.Join(news, "; ")
}
