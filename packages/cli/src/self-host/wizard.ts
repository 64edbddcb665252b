/** The three questions of the first start. Each answer is a setting of the server; all can be asked again, or set by hand. */
import type { Readable } from 'node:stream'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'

export async function askSettings(ctx: Context): Promise<Record<string, string | null>> {
  const prompts = await import('@clack/prompts')
  const streams = { input: ctx.io.stdin as Readable, output: ctx.io.stderr.stream, signal: ctx.io.signal }
  const answered = <T>(answer: T): Exclude<T, symbol> => {
    if (prompts.isCancel(answer)) throw new Refusal('cancelled', 'Cancelled: nothing was changed')
    return answer as Exclude<T, symbol>
  }
  const text = async (message: string, initialValue = '') =>
    answered(
      await prompts.text({
        message,
        initialValue,
        withGuide: false,
        validate: (value) => ((value ?? '').trim() === '' ? 'An answer is needed here.' : undefined),
        ...streams,
      }),
    ).trim()
  const apps = answered(
    await prompts.select({
      message: '1/3  What deploys the apps of your projects?',
      options: [
        { value: 'local', label: 'This machine', hint: 'each app in a sandbox of its own' },
        { value: 'none', label: 'Nothing' },
      ],
      withGuide: false,
      ...streams,
    }),
  )
  const host = answered(
    await prompts.select({
      message: '2/3  Which credential do projects on a git host use that bring none of their own?',
      options: [
        { value: 'none', label: 'None', hint: 'give each project a token when it is made' },
        { value: 'token', label: 'A personal access token', hint: 'GitHub, GitLab, Gitea, …' },
        { value: 'app', label: 'A GitHub App' },
      ],
      withGuide: false,
      ...streams,
    }),
  )
  const given: Record<string, string | null> = {}
  if (host === 'token') {
    given.SVC_GIT_HOST = await text('Name of the host', 'github.com')
    given.SVC_GIT_HOST_TOKEN = answered(
      await prompts.password({
        message: 'The token',
        withGuide: false,
        validate: (value) => ((value ?? '').trim() === '' ? 'An answer is needed here.' : undefined),
        ...streams,
      }),
    ).trim()
  } else if (host === 'app') {
    given.SVC_GITHUB_APP_ID = await text('Id of the App')
    given.SVC_GITHUB_APP_PRIVATE_KEY_FILE = await text('File of its private key (PEM)')
  }
  const connectors = answered(
    await prompts.select({
      message: '3/3  What connects agents to tools of others?',
      options: [
        { value: 'mcp', label: 'MCP servers', hint: 'those that svc.toml lists' },
        { value: 'none', label: 'Nothing' },
      ],
      withGuide: false,
      ...streams,
    }),
  )
  // What was answered before and is not now has to go: an old token must not stay in use unseen.
  const unused = { SVC_GIT_HOST: null, SVC_GIT_HOST_TOKEN: null }
  const unusedApp = { SVC_GITHUB_APP_ID: null, SVC_GITHUB_APP_PRIVATE_KEY_FILE: null }
  return { ...unused, ...unusedApp, ...given, SVC_APP_PROVIDER: apps, SVC_CONNECTOR_PROVIDER: connectors }
}
