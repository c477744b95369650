package main

import (
	"fmt"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/idempotency"
)

// fiberV2 serves the shop with Fiber 2 and its middleware, which takes keys of 36 characters only.
func fiberV2(s *shop, address string) error {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(idempotency.New())
	app.Get("/count", func(c *fiber.Ctx) error { return c.JSON(s.count()) })
	app.Post("/orders", func(c *fiber.Ctx) error {
		var sent one
		_ = c.BodyParser(&sent) // which leaves the item empty
		status, answer := s.order(c.Get("Authorization"), sent.Item)
		if made, ok := answer.(one); ok {
			c.Location(fmt.Sprintf("/orders/%d", made.ID))
		}
		return c.Status(status).JSON(answer)
	})
	return app.Listen(address)
}
