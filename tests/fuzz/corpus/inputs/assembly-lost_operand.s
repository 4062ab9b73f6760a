 [r1+0]
ldxb r3, [r2+12]
mov r0, 1
jne r3, 8, out
div r3, 3
mov r0, 3
out: exit
