/** The conversation on a terminal: a line is a prompt, the answer follows below. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { ApiClient } from '@svc/contract/api'
import type { Context } from './context.ts'
import { abortTurn, followTurn } from './conversation.ts'
import { Refusal } from './errors.ts'
import { red } from './output.ts'
import { printConversation } from './print-conversation.ts'

const historyMax = 500

export async function converse(
  ctx: Context,
  api: ApiClient,
  where: { projectId: string; sessionId: string },
): Promise<void> {
  const { io, out } = ctx
  out.note('A line is a prompt; a line that ends in \\ goes on. Ctrl-C aborts the agent, Ctrl-D leaves.')
  const history: string[] = []
  for (;;) {
    const prompt = await readPrompt(ctx, history)
    if (prompt === null) break
    const release = io.onInterrupt(() => {
      out.progress('Aborting…')
      void abortTurn(api, where).catch((error: Error) => out.progress(red('error: '), error.message))
    })
    try {
      await followTurn(io, api, where, prompt, printConversation(ctx))
    } catch (error) {
      // A turn that failed or was aborted ends the turn, not the conversation.
      if (!(error instanceof Refusal) || error.code !== 'turn_failed') throw error
      out.progress(red('error: '), error.message)
    } finally {
      release()
    }
  }
  out.note(`The session goes on: svc sessions chat ${where.sessionId.slice(0, 8)}`)
}

/** Null when the person leaves. */
async function readPrompt(ctx: Context, history: string[]): Promise<string | null> {
  for (let text = ''; ;) {
    const line = await readLine(ctx, text === '' ? '› ' : '… ', history)
    if (line === null || (text === '' && /^\/(exit|quit)$/.test(line.trim()))) return null
    if (line.endsWith('\\')) {
      text += `${line.slice(0, -1)}\n`
      continue
    }
    text += line
    if (text.trim() !== '') return text
    text = ''
  }
}

function readLine({ io }: Context, question: string, history: string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const lines = createInterface({
      input: io.stdin as Readable,
      output: io.stderr.stream,
      terminal: true,
      history: [...history],
      historySize: historyMax,
      removeHistoryDuplicates: true,
    })
    const finish = (line: string | null) => {
      lines.removeAllListeners('close')
      lines.close()
      if (line !== null && line.trim() !== '') {
        history.unshift(line)
        history.splice(historyMax)
      }
      resolve(line)
    }
    lines.on('line', finish)
    lines.on('close', () => {
      io.stderr.write('\n')
      resolve(null)
    })
    // At the prompt nothing runs, so Ctrl-C drops what was typed; on an empty line it leaves.
    lines.on('SIGINT', () => {
      if (lines.line === '') return lines.close()
      io.stderr.write('\n')
      finish('')
    })
    lines.setPrompt(question)
    lines.prompt()
  })
}
