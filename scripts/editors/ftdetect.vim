" hexc.vim - which files are tile programs.
autocmd BufNewFile,BufRead *.hexc setfiletype hexc
