import { type BodyOf, type connectChannelRoute, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import { notFound } from '../auth/allow.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { sealCredentials } from './credentials.ts'
import { platformOf } from './platforms.ts'
import type { Identified } from './platform.ts'
import {
  type ChannelRow,
  deleteChannel,
  insertChannel,
  lockSameChannel,
  requireChannel,
  updateChannel,
} from './store.ts'

type ConnectDeps = Pick<Deps, 'db' | 'config' | 'keyring'>

/** Identifies the channel with the platform first, so that only working credentials are stored. */
export async function connectChannel(
  deps: ConnectDeps,
  input: BodyOf<typeof connectChannelRoute> & { project: ProjectRow; caller: Caller; channelId: string },
): Promise<ChannelRow> {
  const { project, platform, caller } = input
  const credentials = { botToken: input.bot_token, signingSecret: input.signing_secret }
  const found = requireIdentified(await platformOf(deps.config, platform).identify(credentials, input.conversation_id))
  const place = {
    platform,
    workspace_id: found.workspaceId,
    conversation_id: input.conversation_id,
    bot_user_id: found.botUserId,
  }
  const details = {
    workspace_name: found.workspaceName,
    bot_name: found.botName,
    conversation_name: found.conversationName,
    shared_externally: found.sharedExternally,
    allow_unlinked: input.allow_unlinked,
    connected_by: caller.actor.user_id,
    error: null,
    paused_until: null,
  }
  return deps.db.transaction().execute(async (trx) => {
    const before = await lockSameChannel(trx, place)
    if (before !== null && before.project_id !== project.project_id) throw taken()
    const named = { channel_id: before?.channel_id ?? input.channelId, version: (before?.version ?? 0) + 1 }
    const sealed = sealCredentials(deps, project, named, credentials)
    const row =
      before === null
        ? await insertChannel(trx, {
            ...named,
            ...place,
            ...details,
            project_id: project.project_id,
            account_id: project.account_id,
            sealed,
            looked_at: null,
          })
        : await updateChannel(trx, named.channel_id, { ...details, sealed, version: named.version })
    if (row === null) throw taken()
    const { workspace_name, conversation_id, conversation_name, allow_unlinked } = row
    await recordAudit(trx, caller, {
      ...auditEvent(row, 'channel.connect', 'channel', row.channel_id),
      after: { platform, workspace_name, conversation_id, conversation_name, allow_unlinked },
    })
    return row
  })
}

function requireIdentified(found: Identified): Identified & { kind: 'identified' } {
  if (found.kind === 'identified') return found
  if (found.kind === 'unavailable')
    throw new ServiceError('unavailable', `The channel could not be tested: ${found.reason}`, {
      hint: 'Nothing was saved. Try again in a moment.',
    })
  throw new ServiceError('invalid', `${found.reason}.`, {
    hint: found.hint,
    detail: { issues: [{ path: found.about, message: found.reason }] },
  })
}

function taken(): ServiceError {
  return new ServiceError('conflict', 'The same app already connects this channel to another project.', {
    hint: 'Disconnect it there, or choose another channel.',
  })
}

export async function editChannel(
  deps: Pick<Deps, 'db'>,
  input: { project: ProjectRow; caller: Caller; channelId: string; allow_unlinked: boolean },
): Promise<ChannelRow> {
  const before = await requireChannel(deps.db, input.project.project_id, input.channelId)
  return deps.db.transaction().execute(async (trx) => {
    const row = await updateChannel(trx, before.channel_id, { allow_unlinked: input.allow_unlinked })
    if (row === null) throw notFound('channel')
    await recordAudit(trx, input.caller, {
      ...auditEvent(row, 'channel.edit', 'channel', row.channel_id),
      before: { allow_unlinked: before.allow_unlinked },
      after: { allow_unlinked: row.allow_unlinked },
    })
    return row
  })
}

export async function disconnectChannel(
  deps: Pick<Deps, 'db'>,
  input: { project: ProjectRow; caller: Caller; channelId: string },
): Promise<void> {
  const row = await requireChannel(deps.db, input.project.project_id, input.channelId)
  await deps.db.transaction().execute(async (trx) => {
    if (!(await deleteChannel(trx, row.channel_id))) throw notFound('channel')
    const { platform, workspace_name, conversation_id, conversation_name } = row
    await recordAudit(trx, input.caller, {
      ...auditEvent(row, 'channel.disconnect', 'channel', row.channel_id),
      before: { platform, workspace_name, conversation_id, conversation_name },
    })
  })
}
