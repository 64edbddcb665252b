/** The quotas of a project, and the refusal of a push that exceeds one. */
import { type Quotas, quotaSettings, type QuotaSetting, ServiceError, sizeText } from '@svc/contract'
import { overBeforehand, type OverQuota, type PushQuota, type Repository } from '@svc/git'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import type { DiskWatch } from '../storage/disk-watch.ts'
import type { ProjectRow } from './store.ts'

const names = Object.keys(quotaSettings) as QuotaSetting[]

/** For each quota, the lower of the operator's and the project's. */
export function quotasOf({ quotas }: Pick<Config, 'quotas'>, { settings }: Pick<ProjectRow, 'settings'>): Quotas {
  const own = settings as Partial<Record<QuotaSetting, number | null>>
  const pairs = names.map((name) => {
    const key = quotaSettings[name]
    return [key, Math.min(quotas[key], own[name] ?? Infinity)]
  })
  return Object.fromEntries(pairs) as Quotas
}

export function requireLowerQuotas(
  { quotas }: Pick<Config, 'quotas'>,
  settings: Partial<Record<QuotaSetting, number | null | undefined>>,
): void {
  for (const name of names) {
    const max = quotas[quotaSettings[name]]
    if ((settings[name] ?? 0) <= max) continue
    const message = `is at most ${max} (${sizeText(max)}), the quota of this server`
    throw new ServiceError('invalid', `settings.${name} ${message}.`, {
      hint: 'Its operator can raise it: see the page "Quotas" of the docs, /docs/operate/quotas on your server.',
      detail: { issues: [{ path: `settings.${name}`, message }] },
    })
  }
}

/** `unfinishedBytes` are in the same store but have a quota of their own. */
export function pushQuota(
  deps: Pick<Deps, 'config' | 'disk'>,
  project: ProjectRow,
  unfinishedBytes: number,
): PushQuota {
  const { repositoryBytes, pushBytes } = quotasOf(deps.config, project)
  return {
    pushBytes,
    storeBytes: repositoryBytes,
    otherBytes: unfinishedBytes,
    hasRoom: () => !deps.disk.isLow,
    refusal: (over) => refusalOf(over, { repositoryBytes, pushBytes }, deps.disk),
  }
}

/** One line each: git shows it after `remote:` and in its status report. */
function refusalOf(
  over: OverQuota,
  { repositoryBytes, pushBytes }: Pick<Quotas, 'repositoryBytes' | 'pushBytes'>,
  disk: DiskWatch,
) {
  const used = `The repository uses ${sizeText(over.usedBytes)} of its ${sizeText(repositoryBytes)}`
  switch (over.kind) {
    case 'push':
      return `quota_exceeded: this push is larger than ${sizeText(pushBytes)}, the most one push may be. ${used}. Nothing was changed; leave large files out, or push in several steps.`
    case 'store':
      return `quota_exceeded: this push does not fit. ${used}. Nothing was changed; leave large files out, delete branches that are not needed, or ask for a higher quota.`
    case 'disk':
      return diskLow(disk)
    default:
      return over.kind satisfies never
  }
}

const diskLow = ({ server }: DiskWatch) =>
  `The disk of ${server} is almost full, so it accepts no new work. Nothing was changed; try again when its operator has freed space.`

/** For clients that read HTTP answers. */
function quotaExceeded(over: OverQuota, quotas: Quotas, disk: DiskWatch): ServiceError {
  return new ServiceError('quota_exceeded', refusalOf(over, quotas, disk).replace(/^quota_exceeded: t/, 'T'), {
    detail: {
      used_bytes: over.usedBytes,
      limit_bytes: over.kind === 'push' ? quotas.pushBytes : quotas.repositoryBytes,
    },
  })
}

/** Throws before anything is written when so many bytes cannot fit. */
export async function requireFit(
  { config, disk }: Pick<Deps, 'config' | 'disk'>,
  of: { project: Pick<ProjectRow, 'settings'>; repository: Repository; quota: PushQuota; bytes: number },
): Promise<void> {
  const over = await overBeforehand(of.repository, of.quota, of.bytes)
  if (over?.kind === 'disk') throw new ServiceError('unavailable', diskLow(disk))
  if (over !== null) throw quotaExceeded(over, quotasOf(config, of.project), disk)
}
