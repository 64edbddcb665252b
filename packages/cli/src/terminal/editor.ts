/** Opens a text in the user's editor, as git does. */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'

/** `text` is the initial content; everything below the mark is removed. */
export async function edit(ctx: Context, text: string, explanation: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-edit-'))
  try {
    const path = join(folder, 'CHANGE_REQUEST.md')
    await writeFile(path, `${text}\n\n${mark}\n${explanation}\n`, { mode: 0o600 })
    await runEditor(ctx, path)
    return (await readFile(path, 'utf8')).split(mark)[0]!.trim()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const mark = '<!-- Lines below are ignored -->'

/** The first line is the title; the text after an empty line is the description. */
export function titleAndDescription(text: string): { title: string; description: string } {
  const [title = '', ...rest] = text.split('\n')
  return { title: title.trim(), description: rest.join('\n').trim() }
}

async function runEditor({ io }: Context, path: string): Promise<void> {
  const editor = io.env.VISUAL || io.env.EDITOR || 'vi'
  // The editor handles Ctrl-C while it is open.
  const release = io.onInterrupt(() => {})
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'svc', path], {
        stdio: 'inherit',
        env: io.env as NodeJS.ProcessEnv,
      })
      child.on('error', reject)
      child.on('close', resolve)
    })
    if (code !== 0)
      throw new Refusal('cancelled', `The editor ${JSON.stringify(editor)} exited with ${code}, so nothing changed`, {
        hint: 'Set VISUAL or EDITOR to use another one.',
      })
  } finally {
    release()
  }
}
