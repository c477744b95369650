// Package express tries an application in Express behind the gateway, with the client of web for Node.
package express
