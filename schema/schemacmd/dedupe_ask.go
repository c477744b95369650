package schemacmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/dedupe"
)

// readAnswers reads the file of questions that a person answered, if there is one.
func (f *dedupePlanFlags) readAnswers() error {
	if f.answers == "" {
		return nil
	}
	file, err := os.Open(f.answers)
	if err != nil {
		return cli.Usage(err)
	}
	f.Answers, err = dedupe.ReadAnswers(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", f.answers, err))
	}
	return nil
}

// writeQuestions writes the open questions, unless they are those that the answers leave open, in a file that is there.
func (f *dedupePlanFlags) writeQuestions(plan *dedupe.Plan) error {
	if plan.Questions == 0 || f.answers != "" {
		return nil
	}
	file, err := os.OpenFile(f.questions, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.Usagef("%s exists, and may hold answers: give it with --answers, or name another file with --questions", f.questions)
	}
	if err != nil {
		return cli.Usage(err)
	}
	if err := errors.Join(plan.WriteQuestions(file), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.questions, err)
	}
	return nil
}

// printQuestions says what a person has to answer before all groups can be merged.
func (f *dedupePlanFlags) printQuestions(p *cli.Process, plan *dedupe.Plan) error {
	if plan.Questions == 0 {
		return nil
	}
	file := f.questions
	if f.answers != "" {
		file = f.answers
	}
	_, err := fmt.Fprintf(p.Stdout, "%s in %s: write keep at the row whose value stays, and plan again with --answers %s. Until then, their groups stay as they are.\n",
		texts.Count(plan.Questions, "open question"), file, file)
	return err
}
