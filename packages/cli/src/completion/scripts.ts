/** The completion script of each shell. Each runs `svc __complete -- <words>`, which prints one candidate a line: value, tab, description. */

const bash = `# bash completion of svc
_svc_complete() {
  local cur line value word joined=
  local -a words=()
  # bash breaks words at = too: --head=main comes as three.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ "$word" == = && \${#words[@]} -gt 0 ]]; then words[-1]+==; joined=1
    elif [[ -n "$joined" ]]; then words[-1]+="$word"; joined=
    else words+=("$word"); fi
  done
  cur="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    value="\${line%%$'\\t'*}"
    [[ -z "$value" ]] && continue
    if [[ "$value" == ':file' ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
      continue
    fi
    [[ "$value" == *= ]] && compopt -o nospace 2>/dev/null
    COMPREPLY+=("$(printf '%q' "$value")")
  done < <(command svc __complete -- "\${words[@]}" 2>/dev/null)
}
complete -F _svc_complete svc
`

const zsh = `#compdef svc
# zsh completion of svc
_svc() {
  local line value
  local -a values described
  while IFS= read -r line; do
    value="\${line%%$'\\t'*}"
    if [[ "$value" == ':file' ]]; then
      _files
      continue
    fi
    values+=("$value")
    described+=("\${line//$'\\t'/  -- }")
  done < <(command svc __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#values} )) && compadd -l -d described -a -- values
}
if [ "$funcstack[1]" = "_svc" ]; then _svc "$@"; else compdef _svc svc; fi
`

const fish = `# fish completion of svc
function __svc_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (command svc __complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = ':file'
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c svc -f -a '(__svc_complete)'
`

export const scripts = { bash, zsh, fish } as const
