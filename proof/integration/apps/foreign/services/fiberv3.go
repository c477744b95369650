package main

import (
	"fmt"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
)

// fiberV3 serves the shop with Fiber 3 and its middleware, which sets a cookie for each order and returns errors to
// Fiber for it to answer.
func fiberV3(s *shop, address string) error {
	app := fiber.New()
	app.Use(idempotency.New())
	app.Get("/count", func(c fiber.Ctx) error { return c.JSON(s.count()) })
	app.Post("/orders", func(c fiber.Ctx) error {
		var sent one
		_ = c.Bind().Body(&sent) // which leaves the item empty
		status, answer := s.order(c.Get("Authorization"), sent.Item)
		made, ok := answer.(one)
		if !ok {
			return fiber.NewError(status, "no order")
		}
		c.Cookie(&fiber.Cookie{Name: "order", Value: fmt.Sprintf("o%d-%s", made.ID, made.Item)})
		return c.Status(status).JSON(answer)
	})
	return app.Listen(address, fiber.ListenConfig{DisableStartupMessage: true})
}
