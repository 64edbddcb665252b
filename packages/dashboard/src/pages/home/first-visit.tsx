import { Link } from '@tanstack/react-router'
import { NoModel } from '../../components/no-model.tsx'
import { paths } from '../../paths.ts'
import { Command } from '../../ui/text.tsx'

/** Each step as one command. */
const steps = [
  ['Connect a repository', 'svc projects create --repo <url> --link'],
  ['Start a session', 'svc sessions new --prompt "<task>"'],
  ['Review the change request and merge it', 'svc cr show 1'],
] as const

export function FirstVisit() {
  return (
    <div className="mx-auto flex max-w-2xl flex-col gap-6">
      <h1 className="text-xl font-semibold">Merge your first change in three steps</h1>
      <NoModel />
      <ol className="flex flex-col gap-4">
        {steps.map(([title, command], i) => (
          <li key={title} className="flex flex-col gap-2">
            <p className="font-medium">
              {i + 1}. {title}
            </p>
            <Command>{command}</Command>
            {i === 0 && (
              <p className="text-sm text-dim">
                Or{' '}
                <Link to={paths.newProject} className="text-accent underline">
                  create the project here
                </Link>
                , with an existing repository or a new one.
              </p>
            )}
          </li>
        ))}
      </ol>
      <p className="text-dim">To see the whole workflow first, with a scripted model instead of an AI, run:</p>
      <Command>svc tour</Command>
    </div>
  )
}
