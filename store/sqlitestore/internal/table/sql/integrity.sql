-- Pages and indexes that disagree: the first one that is found, or ok.
PRAGMA integrity_check(1)
