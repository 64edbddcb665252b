import { Link } from '@tanstack/react-router'
import { NoModel } from '../components/no-model.tsx'
import { paths } from '../paths.ts'
import { Command } from '../ui/copy.tsx'

/** Each step in one command; those that need no terminal have a page too. */
const steps = [
  ['Give it a repository', 'svc projects create --repo <url> --link'],
  ['Start an agent on it', 'svc sessions new --prompt "<what it is to do>"'],
  ['Look at what it proposes, and merge', 'svc cr show 1'],
] as const

export function FirstVisit() {
  return (
    <div className="mx-auto flex max-w-2xl flex-col gap-6">
      <h1 className="text-xl font-semibold">Three steps to a first merged change</h1>
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
                or{' '}
                <Link to={paths.newProject} className="text-accent underline">
                  make the project here
                </Link>
                , with your repository or a new one.
              </p>
            )}
          </li>
        ))}
      </ol>
      <p className="text-dim">Or see the whole path first, with a scripted model in place of an AI:</p>
      <Command>svc tour</Command>
    </div>
  )
}
