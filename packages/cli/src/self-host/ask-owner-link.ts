/** Requests an owner link from the local server by the socket in its data folder. */
import { open } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { type ErrorBody, ServiceError } from '@svc/contract/errors'
import {
  type DoctorReport,
  examinePath,
  masterKeyPath,
  type OwnerLink,
  ownerSocketName,
  ownerSocketPath,
  serverInfoPath,
  type ServerInfo,
  type StopWithSessions,
  stopWithSessionsPath,
} from '@svc/contract/daemon/owner-socket'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { dataDirOf, serverEnvironment } from './environment.ts'
import { runningServer } from './state.ts'

const answerMs = 15_000

export async function askOwnerLink(ctx: Context, email: string | null): Promise<OwnerLink> {
  const dataDir = await dataDirHere(ctx)
  const body = email === null ? '' : JSON.stringify({ email })
  const { status, text } = await ask(dataDir, { method: 'POST', path: ownerSocketPath, body }).catch(
    (error: unknown) => {
      throw unreachable(join(dataDir, ownerSocketName), error)
    },
  )
  const answer = JSON.parse(text) as Record<string, unknown>
  if (status === 201) return answer as unknown as OwnerLink
  const { error, hint } = answer
  throw new ServiceError('not_found', String(error), typeof hint === 'string' ? { hint } : {})
}

/** The server that uses the data folder, however it was started; null when none answers. */
export async function askServer(ctx: Context, ms = answerMs): Promise<ServerInfo | null> {
  return askServerIn(await dataDirHere(ctx), ms)
}

export async function askServerIn(dataDir: string, ms = answerMs): Promise<ServerInfo | null> {
  const answer = await askListening(dataDir, ms)
  return answer === 'silent' ? null : answer
}

/** A cluster of sandboxes and addresses that do not answer take seconds. */
const examineMs = 30_000

/** The doctor's findings of the server that uses the data folder. Null when it does not respond, or is of an earlier version. */
export async function askExamination(dataDir: string, silentMs: number): Promise<DoctorReport | null> {
  if ((await askServerIn(dataDir, silentMs)) === null) return null
  const answer = await ask(dataDir, { method: 'GET', path: examinePath, body: '', ms: examineMs }).catch(noServer)
  return answer?.status === 200 ? (JSON.parse(answer.text) as DoctorReport) : null
}

/** The folder with a server that listens there and does not answer, as one that is paused. */
export async function askSilent(ctx: Context, ms: number): Promise<ServerInfo | { silentIn: string } | null> {
  const dataDir = await dataDirHere(ctx)
  const answer = await askListening(dataDir, ms)
  return answer === 'silent' ? { silentIn: dataDir } : answer
}

async function askListening(dataDir: string, ms: number): Promise<ServerInfo | 'silent' | null> {
  const asked = ask(dataDir, { method: 'GET', path: serverInfoPath, body: '', ms })
  const answer = await asked.catch((error: unknown) => (error instanceof SilentServer ? 'silent' : noServer()))
  if (answer === 'silent') return answer
  return answer?.status === 200 ? (JSON.parse(answer.text) as ServerInfo) : null
}

class SilentServer extends Error {
  constructor() {
    super('The server does not respond.')
  }
}

/** The server saves the work of all its sessions first, which takes half a minute at most. */
const saveMs = 60_000

/**
 * Asks the server to end with its sessions. Null when none listens, or it stops already without them; `older` when it
 * does not know the request and ends them in any case. Throws the refusal of a server that would lose work.
 */
export async function askStopWithSessions(
  ctx: Context,
  { dataDir, discard }: { dataDir: string | undefined; discard: boolean },
): Promise<ServerInfo | 'older' | null> {
  const body = JSON.stringify({ discard } satisfies StopWithSessions)
  const asked = { method: 'POST', path: stopWithSessionsPath, body, ms: saveMs } as const
  const answer = await ask(dataDir ?? (await dataDirHere(ctx)), asked).catch(noServer)
  if (answer?.status === 404) return 'older'
  if (answer?.status === 202) return JSON.parse(answer.text) as ServerInfo
  const { error, code, sessions } = JSON.parse(answer?.text ?? '{}') as Partial<ErrorBody>
  if (code === 'work_not_saved') throw new ServiceError(code, String(error), { detail: { sessions } })
  return null
}

/** Whether the running server wrote its master key again, whose file was gone. False without a server. */
export async function askMasterKey(ctx: Context): Promise<boolean> {
  const asked = ask(await dataDirHere(ctx), { method: 'POST', path: masterKeyPath, body: '' })
  return (await asked.catch(noServer))?.status === 201
}

/** No folder, no socket, or a socket without a server. */
function noServer(): null {
  return null
}

interface Asked {
  method: 'GET' | 'POST'
  path: string
  body: string
  ms?: number
}

async function ask(dataDir: string, asked: Asked): Promise<{ status: number; text: string }> {
  const folder = await open(dataDir, 'r')
  try {
    // The kernel limits a socket path to 107 bytes; by file descriptor a deep folder has a short path.
    return await send(`/proc/self/fd/${folder.fd}/${ownerSocketName}`, asked)
  } finally {
    await folder.close()
  }
}

/** The folder in the settings; otherwise the one of the server that this client started or first met. */
async function dataDirHere(ctx: Context): Promise<string> {
  const env = await serverEnvironment(ctx)
  if (env.SVC_DATA_DIR) return dataDirOf(env)
  const running = await runningServer(ctx)
  if (running !== null) return running.data_dir
  const { origin } = await ctx.host()
  return (await ctx.config()).data_dirs?.[origin] ?? dataDirOf(env)
}

function send(
  socketPath: string,
  { method, path, body, ms = answerMs }: Asked,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method, timeout: ms, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    sent.on('timeout', () => sent.destroy(new SilentServer()))
    sent.on('error', reject)
    sent.end(body)
  })
}

function unreachable(path: string, cause: unknown): Refusal {
  const isDenied = (cause as NodeJS.ErrnoException).code === 'EACCES'
  return new Refusal(
    'not_available',
    isDenied ? `This user can't open ${path}` : `No server on this machine listens at ${path}`,
    {
      hint: isDenied
        ? 'Run it as the user who runs the server.'
        : "Run it on the server's machine while the server runs, with the server's SVC_DATA_DIR.",
      next: ['svc self-host status'],
      cause,
    },
  )
}
