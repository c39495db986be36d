# Renders a job's templates as BOSH does, for tests: ruby render.rb JOB_FOLDER
#
# Each line on stdin is a JSON object: "template" (a path below JOB_FOLDER), "properties" (nested, as in a
# manifest) and "spec" (what the template sees by that name). Each is answered by a line: {"text": ...} or
# {"error": ...}.
#
# One thing is stricter than in BOSH, where a template that asks for a property which the job's spec doesn't
# declare never gets it, whatever the manifest says: here that is an error.

require "erb"
require "json"
require "ostruct"
require "yaml"

class Template
  attr_reader :spec

  def initialize(declared, properties, spec)
    @values = declared.to_h do |name, definition|
      value = name.split(".").reduce(properties) { |parent, key| parent.nil? ? nil : parent.fetch(key, nil) }
      [name, value.nil? ? (definition || {})["default"] : value]
    end
    @spec = JSON.parse(JSON.generate(spec), object_class: OpenStruct)
  end

  def p(names, *default)
    found = Array(names).map { |name| value(name) }.compact
    return found.first unless found.empty?
    raise "Can't find property '#{Array(names).join("', or '")}'" if default.empty?

    default.first
  end

  def if_p(*names)
    values = names.map { |name| value(name) }
    return Else.new(self) if values.any?(&:nil?)

    yield(*values)
    Nothing.new
  end

  def render(path)
    ERB.new(File.read(path), trim_mode: "-").result(binding)
  end

  private

  def value(name)
    @values.fetch(name) { raise "'#{name}' is not in the job's spec" }
  end
end

# What follows an if_p that found its properties: its else is not for now.
class Nothing
  def else; end

  def else_if_p(*)
    self
  end
end

# What follows an if_p that did not.
class Else
  def initialize(template)
    @template = template
  end

  def else
    yield
  end

  def else_if_p(*names, &block)
    @template.if_p(*names, &block)
  end
end

job = ARGV.fetch(0)
declared = YAML.load_file(File.join(job, "spec")).fetch("properties")
$stdout.sync = true
$stdin.each_line do |line|
  request = JSON.parse(line)
  answer = begin
    template = Template.new(declared, request.fetch("properties"), request.fetch("spec"))
    { "text" => template.render(File.join(job, request.fetch("template"))) }
  rescue StandardError => e
    { "error" => e.message }
  end
  puts JSON.generate(answer)
end
