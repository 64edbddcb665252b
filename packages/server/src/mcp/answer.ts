/** One MCP request, answered by the official SDK without a session: whatever server gets the next one can answer it. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  type CallToolResult,
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { errorClass, mcpServerName, ServiceError } from '@svc/contract'
import { type Answer, said } from '../connectors/answer.ts'
import { callConnectorTool } from '../connectors/call.ts'
import { offeredTools, refreshTools } from '../connectors/offered.ts'
import type { Deps } from '../deps.ts'
import { version } from '../version.ts'
import { type OwnTool, ownTools, type ToolContext } from './own-tools.ts'
import type { Asker } from './asker.ts'

/** Clients wait a minute for an answer, and longer while they hear that it comes. */
const progressEveryMs = 5_000

const instructions =
  'Tools of this svc project: change requests, secret names, sessions, triggers, and what its connectors offer. ' +
  'A call can wait up to two minutes for a person to approve it. Credentials are added by the server; never ask for them.'

export async function answerMcp(deps: Deps, input: { asker: Asker; raw: Request; body: unknown }): Promise<Response> {
  const server = new Server({ name: mcpServerName, version }, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: await listTools(deps, input.asker) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const token = params._meta?.progressToken
    let progress = 0
    const tell = () => {
      if (token === undefined) return
      progress += 1
      const params = { progressToken: token, progress }
      // A client that left hears nothing, and its request is aborted by that.
      extra.sendNotification({ method: 'notifications/progress', params }).catch(() => {})
    }
    const ticking = setInterval(tell, progressEveryMs)
    try {
      const call = { name: params.name, arguments: params.arguments ?? {}, signal: extra.signal, onProgress: tell }
      return (await callTool(deps, input.asker, call)) as CallToolResult
    } finally {
      clearInterval(ticking)
    }
  })
  // Without a session id generator the transport keeps nothing between requests.
  const transport = new WebStandardStreamableHTTPServerTransport()
  await server.connect(transport)
  input.raw.signal.addEventListener('abort', () => void server.close(), { once: true })
  return transport.handleRequest(input.raw, { parsedBody: input.body })
}

async function listTools(deps: Deps, { project }: Asker): Promise<Tool[]> {
  const own = ownTools.map(({ name, description, inputSchema, readOnly }) => ({
    ...{ name, description, inputSchema },
    annotations: { readOnlyHint: readOnly },
  }))
  await refreshTools(deps, project.project_id)
  const offered = (await offeredTools(deps, project.project_id)).map(({ offeredAs, slug, tool, policy }) => ({
    name: offeredAs,
    ...(tool.title === null ? {} : { title: tool.title }),
    description: `[connector ${slug}] ${tool.description}${policy === 'ask' ? ' (A person is asked first.)' : ''}`,
    inputSchema: tool.input_schema,
    annotations: { readOnlyHint: tool.read_only },
  }))
  return [...own, ...offered] as Tool[]
}

interface Call {
  name: string
  arguments: Record<string, unknown>
  signal: AbortSignal
  onProgress(): void
}

async function callTool(deps: Deps, asker: Asker, call: Call): Promise<Answer> {
  const { caller } = asker
  if (caller === null) return said('This sandbox has no session yet, so its tools can be listed and not called.', true)
  const context: ToolContext = {
    deps,
    caller,
    project: caller.project,
    signal: call.signal,
    onProgress: call.onProgress,
  }
  const own: OwnTool | undefined = ownTools.find(({ name }) => name === call.name)
  if (own !== undefined) return runOwn(own, context, call.arguments)
  const offered = (await offeredTools(deps, caller.project.project_id)).find(({ offeredAs }) => offeredAs === call.name)
  if (offered === undefined)
    return said(
      `There is no tool ${call.name}. list_connectors says what the connectors offer, and why some offer nothing.`,
      true,
    )
  return callConnectorTool(deps, {
    ...call,
    caller,
    project: caller.project,
    slug: offered.slug,
    tool: offered.tool.name,
  })
}

/** A refusal is an answer that the agent reads, in the words of the API. */
async function runOwn(tool: OwnTool, context: ToolContext, args: Record<string, unknown>): Promise<Answer> {
  try {
    return await tool.run(context, args)
  } catch (error) {
    if (!(error instanceof ServiceError) || errorClass(error.code) === 'internal') {
      context.deps.log.error({ err: error, tool: tool.name }, 'a tool of the gateway failed')
      return said('The server could not do that. Nothing is known of the reason here; its log has it.', true)
    }
    const issues = JSON.stringify(error.detail.issues ?? [])
    return said([error.message, error.hint ?? '', issues === '[]' ? '' : issues].filter(Boolean).join(' '), true)
  }
}
