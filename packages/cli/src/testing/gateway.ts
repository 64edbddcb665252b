/** A service whose git gateway is real git over the same HTTP server, for one project. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git } from '../git/git.ts'
import { type Answers, ids, type Received, type Service, startService } from '../testing.ts'

export interface GatewayService extends Service {
  repository: string
  /** Requests from git, each with a credential. */
  pushes: Received[]
}

export async function startGateway(answers: Answers = {}): Promise<GatewayService> {
  const repository = await mkdtemp(join(tmpdir(), 'svc-cli-gateway-'))
  await git(repository, ['init', '--quiet', '--bare'], process.env)
  await git(repository, ['config', 'http.receivepack', 'true'], process.env)
  const pushes: Received[] = []
  const service = startService(answers)
  const gateway = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const url = new URL(request.url)
      const prefix = `/v1/projects/${ids.project}/git`
      if (!url.pathname.startsWith(prefix))
        return fetch(new Request(`${service.url}${url.pathname}${url.search}`, request))
      // git calls its helpers only after a challenge.
      if (!request.headers.has('authorization'))
        return new Response('', { status: 401, headers: { 'www-authenticate': 'Basic realm="svc"' } })
      const { method, headers } = request
      pushes.push({ name: 'git', method, path: url.pathname, params: {}, query: {}, headers, body: null })
      return gitBackend(repository, request, url.pathname.slice(prefix.length), url.search.slice(1))
    },
  })
  return {
    ...service,
    url: `http://127.0.0.1:${gateway.port}`,
    repository,
    pushes,
    async [Symbol.asyncDispose]() {
      await gateway.stop(true)
      await service[Symbol.asyncDispose]()
      await rm(repository, { recursive: true, force: true })
    },
  }
}

async function gitBackend(repository: string, request: Request, path: string, query: string): Promise<Response> {
  const child = Bun.spawn(['git', 'http-backend'], {
    stdin: new Uint8Array(await request.arrayBuffer()),
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: repository,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers.get('content-type') ?? '',
      REMOTE_USER: 'svc',
    },
  })
  const answer = Buffer.from(await new Response(child.stdout).arrayBuffer())
  const end = answer.indexOf('\r\n\r\n')
  const headers = new Headers(
    answer
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]),
  )
  const status = Number(headers.get('status')?.slice(0, 3) ?? 200)
  headers.delete('status')
  return new Response(answer.subarray(end + 4), { status, headers })
}
