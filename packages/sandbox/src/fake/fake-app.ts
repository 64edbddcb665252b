/** A fake daemon for an app or a check, in memory. The test sets its state and may change it later. */

export interface FakeApp {
  state: 'building' | 'starting' | 'ready' | 'restarting' | 'failed' | 'done'
  error?: string | null
  exitCode?: number
  lines?: string[]
  /** The app's answer; by default its slug and commit. */
  answer?: (req: Request) => Response | Promise<Response>
}

export interface FakeAppSpec {
  slug: string
  commit: string
  env: Record<string, string>
  build: string | null
  command: string | null
  static_dir: string | null
  port: number
}

/** `files` is the received tar. */
export type OnApp = (spec: FakeAppSpec, files: Uint8Array) => FakeApp | Promise<FakeApp>

export function createFakeApp(onApp: () => OnApp | undefined) {
  let app: FakeApp | null = null
  let spec: FakeAppSpec | null = null
  const lines: { seq: number; at: number; stream: string; text: string }[] = []

  function readLines(): void {
    for (const text of (app?.lines ?? []).splice(0))
      lines.push({ seq: lines.length + 1, at: Date.now(), stream: 'run', text })
  }

  return {
    async take(req: Request): Promise<unknown> {
      const body = new Uint8Array(await req.arrayBuffer())
      const end = body.indexOf(10)
      spec = JSON.parse(new TextDecoder().decode(body.subarray(0, end))) as FakeAppSpec
      app = (await onApp()?.(spec, body.subarray(end + 1))) ?? { state: 'ready' }
      return { ok: true }
    },
    async watch(body: Record<string, unknown>): Promise<unknown> {
      const until = Date.now() + Number(body['wait_ms'] ?? 0)
      const after = Number(body['after'] ?? 0)
      for (;;) {
        readLines()
        const state = app?.state ?? 'waiting'
        if (lines.length > after || state !== body['state'] || Date.now() >= until)
          return {
            state,
            error: app?.error ?? null,
            starts: 1,
            exit_code: app?.exitCode ?? null,
            lines: lines.slice(after),
          }
        await Bun.sleep(5)
      }
    },
    async answer(port: number, req: Request): Promise<Response | null> {
      if (spec === null || port !== spec.port || app === null) return null
      return (await app.answer?.(req)) ?? new Response(`${spec.slug} ${spec.commit}`)
    },
  }
}
