package mysqlstore

import (
	"context"

	"github.com/semel-dev/semel/store/internal/verb"
)

// Drop removes the store's tables with all records. It is for tables that were
// made for a check; other stores on them fail afterwards. It does not close the
// store.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.gate.Enter("drop", verb.Writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	if _, err := s.db.ExecContext(ctx, s.dialect.names.Replace("DROP TABLE IF EXISTS {{record}}, {{migration}}")); err != nil {
		return translate("drop", err)
	}
	return nil
}
