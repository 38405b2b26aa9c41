# press.zsh PROGRAM SCRIPT LINE…: types each line into an interactive shell,
# presses Tab, and prints the last word of the line as it is then.
zmodload zsh/zpty
export SCRIPT=$2 COMPLETED=$HOME/completed
await() { local text seen; while [[ $seen != *$1* ]]; do zpty -r shell text || exit 1; seen+=$text; done }
for line in "${@[3,-1]}"; do
  zpty shell zsh -f -i
  zpty -w shell 'PS1=rea; PS1+="dy> "; autoload -Uz compinit; compinit -u -d $HOME/zcompdump; source $SCRIPT'
  zpty -w shell 'tell() { print -r -- ${${(z)BUFFER}[-1]} >$COMPLETED; exit }; zle -N tell; bindkey "^X" tell'
  await 'ready> '
  zpty -w -n shell "$line"$'\t\x18'
  while zpty -r shell text; do :; done
  zpty -d shell
  cat $COMPLETED
done
