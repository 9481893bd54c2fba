" hexc.vim - how Vim shows tile programs.  The lists of words are the compiler's: scripts/words writes them.
if exists('b:current_syntax')
  finish
endif

" What only stands in its place: names elsewhere.
syn match hexcControl /\<roles\ze\s*{/
syn match hexcControl /\<\%(producer\|consumer\)\ze\s*\%({\|\<\%(warps\|teams\|registers\)\>\)/
syn match hexcControl /\<\%(await\|arrive\)\ze\s\+\h/
syn match hexcControl /\%([0-9A-Za-z_)\]:]\s\)\@2<=\%(from\|below\)\ze\s\+[0-9A-Za-z_(]/
syn match hexcControl /\<unroll\ze\s\+for\>/
syn match hexcModifier /\<\%(warps\|teams\|registers\)\ze\s\+[0-9A-Za-z_(]/
syn match hexcModifier /\<packed\ze\%(\s*(\|\s\+\h\)/
syn match hexcModifier /\<layout\ze\s*"/
syn match hexcControl /\%(\<async\s\+\)\@<=\%(copy\|store\)\ze\s*(/
syn match hexcControl /\%(\<wait\s\+\)\@<=\%(dots\|stores\)\ze\s\+[0-9A-Za-z_(]/
syn match hexcType /\<mbarrier\ze\s*\[/
syn match hexcMember /\%(\<block\)\@5<=\.[xyz]\>\|\.T\>/

" Begin of lists
syn keyword hexcControl for pipeline while break continue in step stages if else async commit wait barrier return grid
syn keyword hexcDeclaration kernel fn assume const tune default let var static_assert
syn keyword hexcModifier shared register out inout strides
syn keyword hexcConstant true false block inf newaxis
syn keyword hexcType bool i1 u1 i2 u2 i3 u3 i4 u4 i5 u5 i6 u6 i7 u7 i8 u8 i16 u16 i32 u32 i64 u64 e1m1 e1m2 e2m1 e1m3 e2m2 e3m1 e1m4 e2m3 e3m2 e4m1 e1m5 e2m4 e3m3 e4m2 e5m1 e1m6 e2m5 e3m4 e4m3 e5m2 e6m1 e8m0 nf4 f16 bf16 tf32 f32 f64
syn match hexcFunction /\<\%(exp\|exp2\|log\|sqrt\|rsqrt\|tanh\|floor\|round\|trunc\|popcount\|clz\|mulhi\|abs\|max\|min\|fma\|bitcast\|where\|rarely\|lookup\|ceil\|inside\|fill\|exact\|cdiv\|sum\|reduce_max\|reduce_min\|reduce_last\|argmax\|argmin\|sort\|argsort\|topk\|mean\|dot\|sparse\|transpose\|reshape\|shift\|cumsum\|cumprod\|cummax\|cummin\|scan\|reduce\|concat\|atomic_add\|atomic_max\|atomic_min\|atomic_and\|atomic_or\|atomic_xor\|atomic_swap\|atomic_cas\|grid_barrier\|relayout\|print\|assert\|iota\|isnan\|isinf\|maximum\|minimum\|clamp\|fmod\|mod\|expm1\|log2\|log1p\|pow\|sin\|cos\|erf\|erfc\|sigmoid\|silu\|gelu\|gelu_tanh\|philox\|random\)\ze\s*(/
" End of lists

syn match hexcName /\%(\<\%(kernel\|fn\)\s\+\)\@<=\h\w*/
syn match hexcNumber /\<0[xX][0-9a-fA-F_]\+\>/
syn match hexcNumber /\<\d[0-9_]*\%(\.\d[0-9_]*\)\?\%([eE][-+]\?\d\+\)\?\>/
syn match hexcOperator /:+\|\.\.\|[-+*\/%&|^]=\|<<=\?\|>>=\?\|&&\|||\|[<>=!]=\|[-+*\/%&|^!~<>=]/
syn region hexcString start=/"/ end=/"/ oneline
syn match hexcComment "//.*" contains=@Spell

hi def link hexcControl Statement
hi def link hexcDeclaration Keyword
hi def link hexcModifier StorageClass
hi def link hexcConstant Constant
hi def link hexcType Type
hi def link hexcFunction Function
hi def link hexcName Function
hi def link hexcMember Identifier
hi def link hexcNumber Number
hi def link hexcOperator Operator
hi def link hexcString String
hi def link hexcComment Comment

let b:current_syntax = 'hexc'
