import { useQuery } from '@tanstack/react-query'
import { Answer } from '../../components/answer.tsx'
import { ManifestIssues } from '../../components/manifest-issues.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { triggers } from './queries.ts'
import { Card, Empty } from '../../ui/card.tsx'
import { TriggerCard } from './trigger.tsx'

const example = `[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 * * *"
timezone = "Europe/Berlin"
prompt = "Upgrade the dependencies and open a change request."`

export function TriggersPage() {
  const { project_id: projectId } = useProject()
  const found = useQuery(triggers(projectId))
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Triggers</h1>
      <Answer of={found} what="triggers">
        {({ triggers, errors }) => (
          <>
            <ManifestIssues issues={errors} />
            {triggers.length === 0 ? (
              <Card>
                <Empty command={example}>
                  No trigger. They are written in svc.toml and work once that is on the default branch:
                </Empty>
              </Card>
            ) : (
              triggers.map((each) => <TriggerCard key={each.slug} trigger={each} />)
            )}
          </>
        )}
      </Answer>
    </div>
  )
}
