import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { orIfAbsent } from '@svc/git'
import type { Deps } from '../../deps.ts'

/** The folders on disk; `projectId` is null for one that is no repository. */
export async function storedRepositories(
  { config }: { config: Pick<Deps['config'], 'dataDir'> },
  folder: 'repositories' | 'mirrors' | 'replicas' | 'moving',
) {
  const parent = join(config.dataDir, folder)
  const names = await readdir(parent).catch(orIfAbsent<string[]>([]))
  return names.map((name) => ({ dir: join(parent, name), projectId: projectOfFolder(name) }))
}

/** Null for a folder that is no repository. */
export function projectOfFolder(name: string): string | null {
  return /^([0-9a-f-]{36})\.git$/.exec(name)?.[1] ?? null
}

/** The projects among them. */
export async function storedProjects(...of: Parameters<typeof storedRepositories>): Promise<string[]> {
  return (await storedRepositories(...of)).flatMap(({ projectId }) => projectId ?? [])
}
