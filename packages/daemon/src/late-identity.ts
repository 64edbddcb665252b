/**
 * A sandbox on another machine starts blank: its specification names no project and holds no secret. PID 1 waits for the
 * server, which proves itself and then gives the sandbox its environment, once.
 */
import { linkPort, runDir } from '@svc/contract/daemon/control'
import { readStatus, serveLink } from '@svc/link'

/** The driver reads this line in the log of the pod, where only this process can write. */
const announcement = 'svc-link'

export async function untilBooted(
  args: string[],
  at = { port: linkPort, runDir },
): Promise<{ env: Record<string, string>; args: string[] }> {
  const say = (text: string) => void process.stderr.write(`svc-entrypoint: ${text}\n`)
  // The kernel gives PID 1 no default signal action.
  const end = () => process.exit(0)
  process.on('SIGTERM', end)
  const expiry = expiresAfter(Number(argument(args, '--lease') ?? 0), () => {
    say('no server gave this sandbox an identity in time')
    process.exit(0)
  })
  const link = await serveLink({
    ...at,
    serverKey: argument(args, '--link') ?? '',
    status: readStatus,
    log: say,
  })
  process.stdout.write(`${announcement} ${link.publicKey}\n`)
  const identity = await link.booted
  clearTimeout(expiry)
  process.off('SIGTERM', end)
  return { env: identity.env, args: identity.args }
}

/** A pod of a pool has no lease: it waits as long as its pool does. */
function expiresAfter(seconds: number, act: () => void): NodeJS.Timeout | undefined {
  return seconds > 0 ? setTimeout(act, seconds * 1000) : undefined
}

function argument(args: string[], name: string): string | undefined {
  const at = args.indexOf(name)
  return at === -1 ? undefined : args[at + 1]
}
