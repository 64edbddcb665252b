/** Long text on a terminal goes through a pager, as git's does. */
import { spawn } from 'node:child_process'
import type { Context } from './context.ts'

/** `text` already holds our colours, so each part of it was made safe before. */
export async function page(ctx: Context, text: string): Promise<void> {
  const { env } = ctx.io
  const program = env.SVC_PAGER ?? env.PAGER ?? 'less -FRX'
  if (!ctx.out.terminal || program === '' || program === 'cat' || env.TERM === 'dumb') return ctx.out.raw(text)
  // Ctrl-C reaches the pager too, and what it means there is the pager's to say: it alone ends this.
  const release = ctx.io.onInterrupt(() => {})
  try {
    const shown = await runPager(program, text, env)
    if (!shown) ctx.out.raw(text)
  } finally {
    release()
  }
}

/** False when there is no such program: the text is then written as it is. */
function runPager(program: string, text: string, env: Context['io']['env']): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', program], {
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { LESS: 'FRX', LV: '-c', ...env } as NodeJS.ProcessEnv,
    })
    child.on('error', () => resolve(false))
    // 126 and 127: the shell found no program, or none it may run.
    child.on('close', (code) => resolve(code !== 126 && code !== 127))
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
