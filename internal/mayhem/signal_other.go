//go:build !unix

package mayhem

import (
	"errors"
	"os"
)

var errNoPause = errors.New("this system cannot stop a process and let it go on (run this on a Unix system)")

func pause(*os.Process) error { return errNoPause }

func resume(*os.Process) error { return errNoPause }
