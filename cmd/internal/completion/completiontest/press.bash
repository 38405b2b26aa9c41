# press.bash PROGRAM SCRIPT LINE…: the last word of each line behind Tab. Where
# the program has no candidate, bash itself takes files (complete -o default).
name=$1
source "$2"
[[ $(complete -p "$name") == "complete -o bashdefault -o default -F _${name}_complete $name" ]] || exit 1
for line in "${@:3}"; do
  word=${line##* } kept=
  [[ $word == --*=* ]] && kept=${word%%=*}= # bash starts a word behind the sign
  COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9
  "_${name}_complete"
  ((${#COMPREPLY[@]})) || COMPREPLY=($(compgen -f -- "${word#"$kept"}"))
  printf '%s\n' "$kept${COMPREPLY[*]}"
done
