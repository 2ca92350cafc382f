# shellcheck shell=bash
# For scripts that clean up after a command, which source this.

# run COMMAND... : runs it and returns its status, however it ended. TERM and HUP are passed
# on; Ctrl-C reaches it by itself, since the terminal sends it to all.
run() {
	local command="" status=0
	trap : INT
	trap '[ -z "$command" ] || kill -TERM "$command" 2>/dev/null || true' TERM HUP
	# In the background, since only then a signal is answered before its end; which
	# would make it deaf to Ctrl-C, were it not for the subshell's trap.
	(
		trap - INT TERM HUP
		exec "$@"
	) <&0 &
	command=$!
	while :; do
		wait "$command" && status=0 || status=$?
		# A signal ends the wait, not the command.
		kill -0 "$command" 2>/dev/null || break
	done
	return "$status"
}
