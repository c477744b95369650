// Package result holds SQLite's result codes and what an operator can do about
// them, whatever the driver is.
package result

// Primary codes: the low byte of a result code.
const (
	Busy       = 5
	Locked     = 6
	NoMemory   = 7
	ReadOnly   = 8
	IOErr      = 10
	Corrupt    = 11
	Full       = 13
	CantOpen   = 14
	TooBig     = 18
	Auth       = 23
	Constraint = 19
	NotADB     = 26
	permission = 3
)

// Extended codes.
const (
	// BusySnapshot: what the transaction has read was overwritten meanwhile.
	BusySnapshot = Busy | 2<<8

	readOnlyRecovery = ReadOnly | 1<<8
	readOnlyRollback = ReadOnly | 3<<8
)

// Primary is the primary code of a result code.
func Primary(code int) int { return code & 0xff }

// Hint says what an operator can do about a result code, or nothing.
func Hint(code int) string {
	switch code {
	case readOnlyRollback, readOnlyRecovery:
		return "a process was killed while it created the file; open it once for writing"
	}
	switch Primary(code) {
	case Full:
		return "free space on the disk, raise the bound of the file, or sweep; the store goes on as soon as there is room"
	case TooBig:
		return "the outcome is larger than SQLite stores; settle without keeping it"
	case Busy, Locked:
		return "another process holds the file locked; find it with fuser, or raise the busy timeout"
	case ReadOnly:
		return "make the file and its directory writable for this user, or open the store read-only"
	case CantOpen:
		return "check that this user may read and write the file and its directory"
	case permission, Auth:
		return "check the owner and the mode of the file and its directory"
	case NotADB:
		return "this is not a SQLite database; name another file"
	case Corrupt:
		return "the file is damaged; stop every process that uses it, keep a copy, and restore a backup or recover it with: sqlite3 FILE .recover"
	case IOErr:
		return "the disk or the file system failed; look at the kernel's log"
	case NoMemory:
		return "the process has no memory left"
	}
	return ""
}
