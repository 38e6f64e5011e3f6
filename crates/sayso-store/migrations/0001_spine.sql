-- The spine: the log, its audit chain, and the views every list is read from.
-- {int} and {text} are the two column types there are; times are microseconds since the epoch.

CREATE TABLE spaces (
    id         {text} NOT NULL PRIMARY KEY,
    name       {text} NOT NULL UNIQUE,
    created_at {int} NOT NULL,
    deleted_at {int},
    seq        {int} NOT NULL,
    hash       {text} NOT NULL
) {table};

-- What happened. Nothing here is ever changed; everything below can be made again from it.
CREATE TABLE events (
    stream  {text} NOT NULL,
    version {int} NOT NULL,
    space   {text} NOT NULL,
    audit   {int} NOT NULL,
    at      {int} NOT NULL,
    body    {text} NOT NULL,
    PRIMARY KEY (stream, version)
) {keyed_table};

CREATE TABLE audit (
    space {text} NOT NULL,
    seq   {int} NOT NULL,
    prev  {text} NOT NULL,
    hash  {text} NOT NULL,
    body  {text} NOT NULL,
    PRIMARY KEY (space, seq)
) {keyed_table};

CREATE TABLE gates (
    id            {text} NOT NULL PRIMARY KEY,
    space         {text} NOT NULL,
    handle        {text} NOT NULL,
    kind          {text} NOT NULL,
    state         {text} NOT NULL,
    task          {text},
    asker         {text} NOT NULL,
    opened_at     {int} NOT NULL,
    snoozed_until {int},
    ended_at      {int},
    version       {int} NOT NULL,
    body          {text} NOT NULL
) {table};
CREATE UNIQUE INDEX gates_handle ON gates (space, handle);
CREATE INDEX gates_open ON gates (space, opened_at, id) WHERE state = 'open';
CREATE INDEX gates_ended ON gates (space, ended_at, id) WHERE state <> 'open';
CREATE INDEX gates_task ON gates (task, opened_at, id) WHERE task IS NOT NULL;
CREATE INDEX gates_asker_open ON gates (space, asker, opened_at, id) WHERE state = 'open';
CREATE INDEX gates_asker_ended ON gates (space, asker, ended_at, id) WHERE state <> 'open';

-- The ending of each gate, on its way to each asker.
CREATE TABLE deliveries (
    gate  {text} NOT NULL,
    asker {text} NOT NULL,
    space {text} NOT NULL,
    state {text} NOT NULL,
    at    {int} NOT NULL,
    PRIMARY KEY (gate, asker)
) {keyed_table};
CREATE INDEX deliveries_under_way ON deliveries (space, asker, at, gate) WHERE state <> 'acknowledged';

CREATE TABLE tasks (
    id            {text} NOT NULL PRIMARY KEY,
    space         {text} NOT NULL,
    handle        {text} NOT NULL,
    status        {text} NOT NULL,
    sort          {text} NOT NULL,
    priority      {int} NOT NULL,
    parent        {text},
    is_over       {int} NOT NULL,
    waiting       {int} NOT NULL,
    blockers      {int} NOT NULL,
    open_children {int} NOT NULL,
    workable_at   {int},
    created_at    {int} NOT NULL,
    updated_at    {int} NOT NULL,
    version       {int} NOT NULL,
    body          {text} NOT NULL
) {table};
CREATE UNIQUE INDEX tasks_handle ON tasks (space, handle);
CREATE INDEX tasks_ready ON tasks (space, priority, created_at, id)
    WHERE workable_at IS NOT NULL AND blockers = 0 AND open_children = 0;
CREATE INDEX tasks_live ON tasks (space, priority, created_at, id) WHERE is_over = 0;
CREATE INDEX tasks_all ON tasks (space, priority, created_at, id) WHERE status <> 'deleted';
CREATE INDEX tasks_status ON tasks (space, status, priority, created_at, id);
CREATE INDEX tasks_waiting ON tasks (space, priority, created_at, id) WHERE waiting > 0;
CREATE INDEX tasks_parent ON tasks (parent, priority, created_at, id) WHERE parent IS NOT NULL;

CREATE TABLE dependencies (
    task    {text} NOT NULL,
    on_task {text} NOT NULL,
    PRIMARY KEY (task, on_task)
) {keyed_table};
CREATE INDEX dependencies_on ON dependencies (on_task, task);

CREATE TABLE labels (
    label {text} NOT NULL,
    task  {text} NOT NULL,
    PRIMARY KEY (label, task)
) {keyed_table};
CREATE INDEX labels_task ON labels (task);

CREATE TABLE runs (
    id          {text} NOT NULL PRIMARY KEY,
    space       {text} NOT NULL,
    task        {text} NOT NULL,
    state       {text} NOT NULL,
    lease_until {int} NOT NULL,
    version     {int} NOT NULL,
    body        {text} NOT NULL
) {table};
CREATE INDEX runs_live ON runs (space, lease_until) WHERE state <> 'ended';
CREATE INDEX runs_task ON runs (task);

CREATE TABLE messages (
    id        {text} NOT NULL PRIMARY KEY,
    space     {text} NOT NULL,
    handle    {text} NOT NULL,
    recipient {text} NOT NULL,
    sent_at   {int} NOT NULL,
    read_at   {int},
    body      {text} NOT NULL
) {table};
CREATE UNIQUE INDEX messages_handle ON messages (space, handle);
CREATE INDEX messages_unread ON messages (space, recipient, sent_at, id) WHERE read_at IS NULL;
-- Naming the column makes SQLite prefer it to the index of all messages.
CREATE INDEX messages_unread_all ON messages (space, read_at, sent_at, id) WHERE read_at IS NULL;
CREATE INDEX messages_to ON messages (space, recipient, sent_at, id);
CREATE INDEX messages_all ON messages (space, sent_at, id);

-- What the world is to be told; sent before it is settled, so a crash repeats and never loses.
CREATE TABLE outbox (
    id          {text} NOT NULL PRIMARY KEY,
    space       {text} NOT NULL,
    channel     {text} NOT NULL,
    body        {text} NOT NULL,
    due_at      {int} NOT NULL,
    attempts    {int} NOT NULL,
    settled_at  {int},
    error       {text}
) {table};
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE settled_at IS NULL;

CREATE TABLE tokens (
    id         {text} NOT NULL PRIMARY KEY,
    space      {text} NOT NULL,
    handle     {text} NOT NULL,
    hash       {text} NOT NULL UNIQUE,
    role       {text} NOT NULL,
    name       {text} NOT NULL,
    task       {text},
    run        {text},
    launcher   {text} NOT NULL,
    created_at {int} NOT NULL,
    expires_at {int},
    revoked_at {int}
) {table};
CREATE UNIQUE INDEX tokens_handle ON tokens (space, handle);
CREATE INDEX tokens_all ON tokens (space, id);
CREATE INDEX tokens_run ON tokens (run) WHERE run IS NOT NULL;

CREATE TABLE passphrases (
    space {text} NOT NULL,
    name  {text} NOT NULL,
    hash  {text} NOT NULL,
    PRIMARY KEY (space, name)
) {keyed_table};

-- Terminals that were unlocked with a passphrase, as sudo remembers them.
CREATE TABLE unlocks (
    space    {text} NOT NULL,
    name     {text} NOT NULL,
    terminal {text} NOT NULL,
    until    {int} NOT NULL,
    PRIMARY KEY (space, name, terminal)
) {keyed_table};
