package redisguard

import (
	"embed"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/internal/must"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script reads a script. rueidis sends its name, and its text where the server
// does not know it; a script that may have run is not sent again.
func script(name string) *rueidis.Lua {
	text := must.Get(luaFiles.ReadFile("lua/" + name + ".lua"))
	return rueidis.NewLuaScript(string(text))
}
