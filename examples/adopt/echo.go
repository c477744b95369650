package adopt

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// Echo makes the door a middleware of Echo. echo.WrapMiddleware is not enough:
// with it, an error that a handler returns becomes an answer only after the
// door has recorded the answer.
func Echo(door *semelhttp.Middleware) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			outer, request := c.Response(), c.Request()
			defer func() { c.SetResponse(outer); c.SetRequest(request) }()
			door.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.SetRequest(r)
				c.SetResponse(echo.NewResponse(w, c.Echo()))
				if err := next(c); err != nil {
					if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) { // it becomes a 503 that says nothing of the work
						semelhttp.Dispose(r.Context(), semel.StateUnknown, err.Error())
					}
					c.Error(err) // the answer, while the door looks
				}
			})).ServeHTTP(outer, request)
			return nil
		}
	}
}
