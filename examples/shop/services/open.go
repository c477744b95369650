package services

import (
	"context"
	"errors"

	"github.com/semel-dev/semel/examples/internal/sqlite"
)

func openOrders(ctx context.Context, s *service, c *fleetConfig) (*part, error) {
	var err error
	if s.db, err = c.openOrdersDB(ctx, ordersSchema()...); err != nil {
		return nil, err
	}
	conn, js, err := connect(ctx, c)
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	end := func() error { conn.Close(); return s.db.Close() }
	if c.Protected {
		return protectOrders(ctx, s, c, js, end)
	}
	return &part{handler: (&naiveOrders{s, c, js}).routes(), close: end}, nil
}

func openPayment(ctx context.Context, s *service, c *fleetConfig) (*part, error) {
	conn, js, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	end := func() error { conn.Close(); return nil }
	if c.Protected {
		return protectPayment(ctx, s, c, js, end)
	}
	charge := s.naiveConsumer(js, rolePayment, ordersTopic, rolePayment, s.naiveCharge(c))
	return &part{work: []func(context.Context) error{charge}, close: end}, nil
}

func openLogistics(ctx context.Context, s *service, c *fleetConfig) (*part, error) {
	var err error
	if s.db, err = sqlite.Open(ctx, c.file(roleLogistics), logisticsSchema); err != nil {
		return nil, err
	}
	conn, js, err := connect(ctx, c)
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	end := func() error { conn.Close(); return s.db.Close() }
	if c.Protected {
		return protectLogistics(ctx, s, c, js, end)
	}
	mail := s.naiveConsumer(js, "mail", mailsTopic, "mail", s.naiveMail(c))
	return &part{handler: s.naiveShipments(), work: []func(context.Context) error{mail}, close: end}, nil
}
