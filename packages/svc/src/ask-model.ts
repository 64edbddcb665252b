/** The first start asks for a model, where a person is at the terminal. */
import { askModel, type GivenModel } from '@svc/cli/ask-model'

export async function askForModel(
  problem: string | null,
  signal: AbortSignal,
): Promise<GivenModel | null | 'interrupted'> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return 'interrupted'
  const answer = await askModel({ problem, signal, input: process.stdin, output: process.stdout })
  // The prompt reads the keys itself, so the terminal sends no signal.
  if (answer === 'interrupted' && !signal.aborted) process.kill(process.pid, 'SIGINT')
  return answer
}
