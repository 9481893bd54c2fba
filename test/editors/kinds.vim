" kinds.vim - of each token that $TOKENS lists, the class that hexc.vim gives it, to $KINDS.
set nocompatible nomore
let &runtimepath = $RUNTIME . ',' . $VIMRUNTIME
filetype on
syntax on
let s:said = []
let s:file = ''
for s:row in readfile($TOKENS)
  let [s:path, s:line, s:col; s:rest] = split(s:row, "\t")
  if s:path !=# s:file
    execute 'silent edit ' . fnameescape(s:path)
    if &filetype !=# 'hexc'
      call add(s:said, s:path . ' is ' . &filetype)
    endif
    let s:file = s:path
  endif
  let s:kind = synIDattr(synID(str2nr(s:line), str2nr(s:col), 1), 'name')
  call add(s:said, join([s:path, s:line, s:col, s:kind ==# '' ? '-' : substitute(s:kind, '^hexc', '', '')], "\t"))
endfor
call writefile(s:said, $KINDS)
qall!
