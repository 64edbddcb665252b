import { chosenAccountId } from '../../browser/account-choice.ts'

interface Named {
  slug: string
  project_id: string
  account_id: string
}

/** By slug or id. Two accounts may each have a project with this slug: the chosen account's comes first. */
export function findProject<P extends Named>(all: P[], name: string): P | undefined {
  const named = all.filter(({ slug, project_id }) => slug === name || project_id === name)
  return named.find(({ account_id }) => account_id === chosenAccountId()) ?? named[0]
}
