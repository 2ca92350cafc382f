// Package supplychain has the tests of what tare is made from: licences of its modules
// and of the report's packages, actions and container images that are named by their
// content, and builds that give the same bytes.
//
// It must not know what tare does.
package supplychain
