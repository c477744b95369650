// Package operate runs the commands by which a service is restarted or killed,
// and waits until it can be asked again.
//
//	ready := operate.Ready(&client, "http://localhost:8080/")
//	config.Restart = operate.Then(operate.Command("systemctl restart shop"), ready)
//	config.Kill = operate.Then(operate.Command("kill -9 $(cat shop.pid); ./start-shop"), ready)
//
// A command ends when the old service is gone for certain, and leaves the new one
// starting or started: while the old one still answers, nobody can tell the two
// apart.
package operate
