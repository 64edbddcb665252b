import type { Repository } from './repository.ts'

/** A managed repository is the truth: what it acknowledged must survive a power cut. A mirror can be fetched again. */
export function durable(repo: Repository): [string, string][] {
  return repo.remote ? [] : [['core.fsync', 'objects,derived-metadata,reference']]
}
