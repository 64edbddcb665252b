/** Pages long text on a terminal, as git does. */
import { spawn } from 'node:child_process'
import type { Context } from '../context.ts'

/** `text` contains our colours; its parts are already sanitized. */
export async function page(ctx: Context, text: string): Promise<void> {
  const { env } = ctx.io
  const program = env.SVC_PAGER ?? env.PAGER ?? 'less -FRX'
  if (!ctx.out.terminal || program === '' || program === 'cat' || env.TERM === 'dumb') return ctx.out.raw(text)
  // Ctrl-C also reaches the pager, which decides what it means.
  const release = ctx.io.onInterrupt(() => {})
  try {
    const shown = await runPager(program, text, env)
    if (!shown) ctx.out.raw(text)
  } finally {
    release()
  }
}

/** False when the program is missing: the caller then prints the text. */
function runPager(program: string, text: string, env: Context['io']['env']): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', program], {
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { LESS: 'FRX', LV: '-c', ...env } as NodeJS.ProcessEnv,
    })
    child.on('error', () => resolve(false))
    // 126 and 127: the shell found no program, or may not run it.
    child.on('close', (code) => resolve(code !== 126 && code !== 127))
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
