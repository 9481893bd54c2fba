# Bash completion. It completes words of --help, so it matches the installed hexc.
_hexc()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} hexc=${COMP_WORDS[0]} help command i values

	# bash splits words at an =
	[ "$word" = = ] && word=
	[ "$before" = = ] && ((COMP_CWORD > 1)) && before=${COMP_WORDS[COMP_CWORD - 2]}
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--emit-ptx | [a-z]*) command=${COMP_WORDS[i]} && break ;;
		esac
	done
	# shellcheck disable=SC2086 # no command is no word
	help=$("$hexc" $command --help 2>/dev/null) || return
	case $before in
	--arch) values=$("$hexc" --list-archs 2>/dev/null) ;;
	-*) values=$(printf '%s\n' "$help" | sed -n "s/^  $before \([a-z]*|[a-z|]*\) .*/\1/p" | tr '|' ' ') ;;
	esac
	if [ -n "$values" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	elif [[ $word == -* ]]; then
		values=$(printf '%s\n' "$help" | sed -n 's/^  \(--*[A-Za-z-]*\).*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	elif [ -z "$command" ] && ((COMP_CWORD == 1)); then
		values=$(printf '%s\n' "$help" | sed -n 's/^ *\(usage: \)\{0,1\}hexc \([a-z][a-z]*\) .*/\2/p')
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
	fi
	# files otherwise
}
complete -o default -F _hexc hexc
