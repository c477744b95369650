package source

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Curl reads a curl command line, as browsers copy it (for a POSIX shell or for the Windows command prompt), or as a
// README has it. Relative file names start at the working directory.
//
// Options that only concern the answer are left out and noted. An option that is unknown, or that changes the request
// in a way that cannot be followed, is an error that names it.
func Curl(line string) (*Request, error) { return curl(line, "") }

// CurlWords reads a curl command whose words a shell has already split. Stdin is read for @-; nil refuses it.
func CurlWords(words []string, stdin io.Reader) (*Request, error) {
	words, err := afterName(words)
	if err != nil {
		return nil, err
	}
	c := &command{}
	if stdin != nil {
		c.stdin = func() ([]byte, error) { return readAll(stdin, "standard input") }
	}
	return c.read(words)
}

func curl(line, dir string) (*Request, error) {
	if len(line) > MaxBytes {
		return nil, fmt.Errorf("the command line is larger than %d MiB: put the body into a file, and write -d @FILE", MaxBytes>>20)
	}
	got, err := split(line)
	if err != nil {
		return nil, fmt.Errorf("curl command: %w", err)
	}
	words, err := afterName(got.words)
	if err != nil {
		return nil, err
	}
	c := &command{notes: got.notes, dir: dir}
	switch {
	case got.stdin != nil:
		c.stdin = func() ([]byte, error) { return []byte(*got.stdin), nil }
	case got.from != "":
		c.stdin = func() ([]byte, error) { return readFile(dir, got.from) }
	}
	return c.read(words)
}

// read applies the options, and builds a request from them.
func (c *command) read(words []string) (*Request, error) {
	if err := c.options(words); err != nil {
		return nil, fmt.Errorf("curl command: %w", err)
	}
	if len(c.ignored) > 0 {
		c.notes = append(c.notes, "left out, since it does not change the request: "+strings.Join(c.ignored, ", "))
	}
	r, err := c.request()
	if err != nil {
		return nil, fmt.Errorf("curl command: %w", err)
	}
	return r, nil
}

func split(line string) (typed, error) {
	if forPrompt(line) {
		return typed{words: promptWords(line)}, nil
	}
	return (&shell{text: line}).words()
}

// afterName skips the words before the options.
func afterName(words []string) ([]string, error) {
	for i, word := range words {
		name, _, assigns := strings.Cut(word, "=")
		switch {
		case word == "$", word == "%", word == ">", word == "sudo", assigns && isToken(name):
			continue
		case path.Base(strings.ReplaceAll(word, `\`, "/")) == "curl", strings.HasSuffix(strings.ToLower(word), "curl.exe"):
			return words[i+1:], nil
		}
		break
	}
	return nil, errors.New(`this is not a curl command: copy a request "as cURL", and begin with curl`)
}

// options reads the words; a word that is not an option is a URL.
func (c *command) options(words []string) error {
	known := curlOptions()
	only := false
	for i := 0; i < len(words); i++ {
		word := words[i]
		if only || len(word) < 2 || word[0] != '-' {
			if word != "" {
				c.url = append(c.url, word)
			}
			continue
		}
		if only = word == "--"; only {
			continue
		}
		var next string
		if i+1 < len(words) {
			next = words[i+1]
		}
		took, err := c.option(known, word, next, i+1 < len(words))
		if err != nil {
			return err
		}
		if took {
			i++
		}
	}
	return nil
}

// option applies a long option or a bundle of short ones; took reports that it used the next word.
func (c *command) option(known map[string]curlOption, word, next string, more bool) (took bool, err error) {
	if strings.HasPrefix(word, "--") {
		o, ok := known[word]
		if positive, negated := strings.CutPrefix(word, "--no-"); !ok && negated {
			o, ok = known["--"+positive]
			ok = ok && o.does == nil && !o.takes
		}
		if !ok {
			return false, unknownOption(word)
		}
		return o.takes, c.apply(o, word, next, more)
	}
	for at := 1; at < len(word); at++ {
		name := "-" + word[at:at+1]
		o, ok := known[name]
		switch {
		case !ok:
			return false, unknownOption(name)
		case o.takes && at+1 < len(word):
			return false, c.apply(o, name, word[at+1:], true)
		}
		if err := c.apply(o, name, next, more); err != nil {
			return false, err
		}
		if o.takes {
			return true, nil
		}
	}
	return false, nil
}

func unknownOption(name string) error {
	return fmt.Errorf("unknown option %s: remove it, or write the request without it", name)
}

func (c *command) apply(o curlOption, name, value string, there bool) error {
	switch {
	case o.refuse != "":
		return fmt.Errorf("the option %s %s", name, o.refuse)
	case o.takes && !there:
		return fmt.Errorf("the option %s has no value", name)
	case o.does != nil:
		o.does(c, value)
	case !slices.Contains(c.ignored, name):
		c.ignored = append(c.ignored, name)
	}
	return nil
}
