// Package operate runs the commands that restart or kill a service, and waits until it accepts requests again.
//
//	ready := operate.Ready(&client, "http://localhost:8080/")
//	config.Restart = operate.Then(operate.Command("systemctl restart shop"), ready)
//	config.Kill = operate.Then(operate.Command("kill -9 $(cat shop.pid); ./start-shop"), ready)
//
// A command must end after the old service is gone, with the new one starting or started: as long as the old one answers,
// the two cannot be distinguished.
package operate
