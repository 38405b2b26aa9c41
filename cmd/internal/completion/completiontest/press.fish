# press.fish PROGRAM SCRIPT LINE…: the last word of each line behind Tab.
source $argv[2]
for line in $argv[3..-1]
    set -l found (complete -C $line)
    string join ' ' -- '' (string replace -r '\t.*' '' -- $found) | string trim
end
